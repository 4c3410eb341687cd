"""Build hook of contextune-lab and contextune-reader: require the contextune of the same version."""

from hatchling.metadata.plugin.interface import MetadataHookInterface


class SameVersion(MetadataHookInterface):
    """Pin the runtime to the version of the distribution."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add the dependency."""
        metadata["dependencies"] = [f"contextune=={metadata['version']}"]
