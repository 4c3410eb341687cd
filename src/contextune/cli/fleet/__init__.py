"""`contextune fleet`: batch work over many users, in one process or on a Ray cluster."""

from contextune.cli.fleet import batch, learning
from contextune.cli.groups import command_group

app = command_group(help="Work on many users at once: embed, import, answer, train and evaluate on Ray.")
app.command()(batch.embed)
app.command("import")(batch.import_)
app.command()(batch.answer)
app.command()(learning.train)
app.command()(learning.evaluate)
app.command()(learning.models)
app.command()(learning.rollback)
