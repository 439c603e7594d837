"""Real OpenSearch nodes on loopback, from the jars of Maven Central, several in one JVM or each in its own."""

import contextlib
import functools
import json
import random
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.integration.processes import START_S, Running, eventually, free_port

_POM = Path(__file__).parent / "pom.xml"
_RUNNER = "org.codelibs.opensearch.runner.OpenSearchRunner"
_HTTP_PORT = re.compile(r"HTTP Port: +([0-9]+)")
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"


class NoOpenSearch(Exception):
    """Java or Maven is missing, or the jars can neither be found nor downloaded."""


@functools.cache
def class_path() -> str:
    """The jars of OpenSearch, which Maven downloads into its own cache the first time."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise NoOpenSearch(f"{program} is not installed")
    file = Path.home() / ".m2" / "linkmend-opensearch.classpath"
    # Within one minute of the pom's own time nothing can have changed; a jar may have been removed since.
    if file.is_file() and file.stat().st_mtime >= _POM.stat().st_mtime:
        known = file.read_text(encoding="utf-8").strip()
        if all(Path(jar).is_file() for jar in known.split(":")):
            return known
    command = ["mvn", "-q", "-B", "-f", str(_POM), _PLUGIN, f"-Dmdep.outputFile={file}"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        raise NoOpenSearch("Maven Central does not answer") from None
    if ended.returncode:
        raise NoOpenSearch(f"Maven cannot load OpenSearch: {ended.stdout[-300:]}")
    return file.read_text(encoding="utf-8").strip()


class Cluster:
    """Nodes that have found each other; `urls` are their addresses."""

    def __init__(
        self, directory: Path, *, nodes: int = 3, apart: bool = False, heap: str = "768m", cpus: int = 0
    ) -> None:
        """With `apart` each node has a JVM of its own, so that it can be killed alone."""
        transports = [free_port() for _ in range(nodes)]
        groups = [[port] for port in transports] if apart else [transports]
        self._jars = class_path()
        self._heap, self._cpus = heap, cpus
        self._transports = transports
        self.backups = directory / "backups"
        self._groups = [(directory / f"jvm-{at}", group) for at, group in enumerate(groups)]
        self.jvms: list[Running] = []
        self.urls: list[str] = []
        try:
            for folder, group in self._groups:
                jvm = self._start(folder, group)
                self.jvms.append(jvm)
                self.urls += self._addresses(jvm, len(group))
            self.wait_for("green", nodes)
        except BaseException:
            self.stop()
            raise

    def _start(self, folder: Path, transports: Sequence[int]) -> Running:
        for number, port in enumerate(transports, 1):
            config = folder / f"node_{number}" / "config"
            config.mkdir(parents=True, exist_ok=True)
            (config / "opensearch.yml").write_text(self._settings(port), encoding="utf-8")
        memory = (f"-Xms{self._heap}", f"-Xmx{self._heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4")
        cpus = (f"-XX:ActiveProcessorCount={self._cpus}",) if self._cpus else ()
        where = ("-basePath", str(folder), "-clusterName", f"linkmend-{self._transports[0]}")
        base = (
            "-baseHttpPort",
            str(9200 + random.randrange(60)),
            "-numOfNode",
            str(len(transports)),
            "-disableESLogger",
        )
        return Running(["java", *memory, *cpus, "-cp", self._jars, _RUNNER, *where, *base], env={})

    def _settings(self, port: int) -> str:
        seeds = json.dumps([f"127.0.0.1:{each}" for each in self._transports])
        return (
            f"network.host: 127.0.0.1\ntransport.port: {port}\ndiscovery.seed_hosts: {seeds}\n"
            f"path.repo: {json.dumps(str(self.backups))}\n"
            # The first alone founds the cluster: it starts before the others, and would wait for them half a minute.
            f'cluster.initial_cluster_manager_nodes: ["127.0.0.1:{self._transports[0]}"]\n'
            "cluster.routing.allocation.disk.threshold_enabled: false\n"
            # A node that was killed is missed within seconds, not within a minute.
            "cluster.fault_detection.follower_check.interval: 500ms\n"
            "cluster.fault_detection.leader_check.interval: 500ms\n"
        )

    def _addresses(self, jvm: Running, count: int) -> list[str]:
        jvm.wait_until(
            lambda: len(_HTTP_PORT.findall(jvm.output)) >= count, "not every node started", timeout_s=START_S
        )
        return [f"http://127.0.0.1:{port}" for port in _HTTP_PORT.findall(jvm.output)[:count]]

    def wait_for(self, status: str, nodes: int) -> None:
        """Wait until so many nodes are there and the cluster has this health."""

        def is_so() -> bool:
            health = self.ask("GET", "/_cluster/health") or {}
            return health.get("number_of_nodes") == nodes and health.get("status") == status

        eventually(is_so, f"cluster not {status} with {nodes} nodes", timeout_s=START_S)

    def ask(self, method: str, path: str, body: object = None) -> dict | None:
        """The first answer of any node as JSON; None when none answers."""
        data = None if body is None else json.dumps(body).encode()
        for url in self.urls:
            request = urllib.request.Request(url + path, data, method=method)
            request.add_header("Content-Type", "application/json")
            with contextlib.suppress(OSError, ValueError):
                try:
                    with urllib.request.urlopen(request, timeout=30) as answer:
                        return json.load(answer)
                except urllib.error.HTTPError as error:
                    return {"status": error.code, "error": error.read().decode()}
        return None

    def kill(self, jvm: int) -> None:
        """`kill -9` of a JVM with its nodes."""
        self.jvms[jvm].kill()

    def restart(self, jvm: int) -> None:
        """Start a killed JVM again with its data; its address may be another."""
        folder, group = self._groups[jvm]
        self.jvms[jvm] = self._start(folder, group)
        self.urls[jvm : jvm + 1] = self._addresses(self.jvms[jvm], len(group))

    def stop(self) -> None:
        """End every node."""
        for jvm in self.jvms:
            jvm.stop()
