"""Build hook of contextune-lab: require the contextune of the same version."""

from hatchling.metadata.plugin.interface import MetadataHookInterface


class SameVersion(MetadataHookInterface):
    """Pin the runtime to the version of the distribution."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add the dependency, with the extra that the distribution asks for."""
        extra = f"[{self.config['extra']}]" if "extra" in self.config else ""
        metadata["dependencies"] = [f"contextune{extra}=={metadata['version']}"]
