"""`contextune bench`: the benchmarks of quality and speed."""

from contextune.cli.groups import command_group
from contextune_lab.cli.bench import (
    cluster,
    commands,
    context,
    everything,
    planning,
    query_generation,
    serve,
    speed,
    tools,
    worlds,
)

app = command_group(help="Measure quality and speed.")
for _command in (
    worlds.worlds, commands.commands,
    context.context, context.history, context.budget, context.habits,
    tools.tools, tools.catalogues, tools.published, tools.unseen, tools.doubts, tools.corrections,
    query_generation.querygen, planning.plan,
    speed.speed, speed.changes, speed.scale, speed.frameworks, speed.store, speed.embedder, speed.fleet,
    speed.init,
    serve.serve, cluster.cluster, cluster.growth, everything.docs, everything.figures,
):  # fmt: skip
    app.command()(_command)
app.command("import")(speed.import_)
app.command("all")(everything.everything)
