/* Preloaded library that makes one write, truncation or sync of a store's files fail.

   fault_arm(n, kind): the n-th call from now fails: 0 with EIO, 1 with ENOSPC; 2 writes half of the bytes and
   ends the process, 3 ends it before the call. fault_calls(): number of calls since then. Nothing is really
   synced: the system survives, and the test is faster. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { FAULT_EIO, FAULT_ENOSPC, FAULT_TORN, FAULT_CRASH };

static long calls, target;
static int fault;

void fault_arm(long n, int kind) { calls = 0; target = n; fault = kind; }
long fault_calls(void) { return calls; }

static int is_due(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, "store.db")) return 0;
    if (++calls != target) return 0;
    if (fault == FAULT_CRASH) _exit(9);
    errno = fault == FAULT_ENOSPC ? ENOSPC : EIO;
    return 1;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

#define WRITE(name, offset_type)                                                         \
    ssize_t name(int fd, const void *bytes, size_t size, offset_type offset) {           \
        if (is_due(fd)) {                                                                \
            if (fault != FAULT_TORN) return -1;                                          \
            REAL(name)(fd, bytes, size / 2, offset);                                     \
            _exit(9);                                                                    \
        }                                                                                \
        return REAL(name)(fd, bytes, size, offset);                                      \
    }

#define CALL(name, parameters, otherwise)                                                \
    int name parameters {                                                                \
        if (is_due(fd)) {                                                                \
            if (fault == FAULT_TORN) _exit(9);                                           \
            return -1;                                                                   \
        }                                                                                \
        return otherwise;                                                                \
    }

WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
CALL(fsync, (int fd), 0)
CALL(fdatasync, (int fd), 0)
CALL(ftruncate, (int fd, off_t size), REAL(ftruncate)(fd, size))
CALL(ftruncate64, (int fd, off64_t size), REAL(ftruncate64)(fd, size))
