BEGIN TRANSACTION;
CREATE TABLE counter (revision INTEGER NOT NULL);
INSERT INTO "counter" VALUES(4);
CREATE TABLE forgotten (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE items (
            user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
            id TEXT NOT NULL,
            app TEXT NOT NULL,
            fields TEXT NOT NULL,
            PRIMARY KEY (user, id)
        ) WITHOUT ROWID;
INSERT INTO "items" VALUES(1,'1','Notes','{"title":"chá","tags":["a","b"]}');
INSERT INTO "items" VALUES(1,'2','Mail','{"subject":"Olá"}');
CREATE TABLE users (
            key INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            profile TEXT NOT NULL,
            places TEXT NOT NULL,
            contacts TEXT NOT NULL,
            zone TEXT,
            revision INTEGER NOT NULL DEFAULT 0,
            uses_revision INTEGER NOT NULL DEFAULT 0
        );
INSERT INTO "users" VALUES(1,'ana','{"name":"Ana Simões"}','{"home":[41.15,-8.63]}','{"contacts":[{"name":"Rui","email":"rui@example.org","phone":null,"relation":null,"more":{"since":2009}}]}','Europe/Lisbon',3,4);
INSERT INTO "users" VALUES(2,'rui','{}','{}','{"contacts":[]}',NULL,2,0);
CREATE TABLE uses (
            user INTEGER NOT NULL,
            item TEXT NOT NULL,
            moment TEXT NOT NULL,
            place NOT NULL,
            time TEXT NOT NULL,
            PRIMARY KEY (user, item, moment, place),
            FOREIGN KEY (user, item) REFERENCES items ON DELETE CASCADE
        ) WITHOUT ROWID;
INSERT INTO "uses" VALUES(1,'1','2024-05-16T19:00:00',X'','2024-05-16T19:00:00');
INSERT INTO "uses" VALUES(1,'1','2024-05-16T19:00:00+00:00','home','2024-05-16T20:00:00+01:00');
CREATE TABLE vectors (
            user INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
            digest BLOB NOT NULL,
            model TEXT NOT NULL,
            vector BLOB NOT NULL,
            UNIQUE (user, digest, model)
        );
INSERT INTO "vectors" VALUES(1,X'646967657374','m',X'0000003F000080BF');
PRAGMA application_id = 1129600334;
PRAGMA user_version = 1;
COMMIT;
