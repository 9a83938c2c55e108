"""`tracking=mlflow`: a run of the experiment `gclbench` on a tracking server, or in a folder of the
store."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from gclbench.tracking import Run, Tracker

EXPERIMENT = "gclbench"
STATUS = {"ok": "FINISHED", "interrupted": "KILLED", "preempted": "KILLED"}
"""A record's status to MLflow's; FAILED for all others."""

LONGEST = 500
"""Characters of a parameter or tag, which every server takes."""


class MLflow(Tracker):
    """At `MLFLOW_TRACKING_URI`, else in `<runs_dir>/mlruns`.

    Parameters are the settings, metrics `loss` by iteration and the record's; tags begin with
    `gclbench.`. A run that is repeated goes on in the MLflow run of the same id.
    """

    package: ClassVar[str] = "mlflow"
    extra: ClassVar[str] = "mlflow"

    def begin(self, run: Run) -> None:
        # What people run is their own matter, and GCLBENCH_OFFLINE=1 opens no connection.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        uri = os.environ.get("MLFLOW_TRACKING_URI", "")
        if not uri:
            # Plain files, as the records are: a data base on NFS takes no several writers. MLflow
            # asks for a word on that.
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
            uri = (run.runs_dir / "mlruns").resolve().as_uri()
        from mlflow.entities import Param
        from mlflow.tracking import MlflowClient

        self._client = MlflowClient(tracking_uri=uri)
        experiment = self._experiment()
        earlier = self._client.search_runs(
            [experiment], f"tags.`gclbench.id` = '{run.id}'", max_results=1
        )
        if earlier:
            self._id = earlier[0].info.run_id
            self._client.update_run(self._id, status="RUNNING")
        else:
            made = self._client.create_run(
                experiment, run_name=run.name, tags={"gclbench.id": run.id}
            )
            self._id = made.info.run_id
        settings = [Param(key, str(value)[:LONGEST]) for key, value in run.settings.items()]
        for place in range(0, len(settings), 100):
            self._client.log_batch(self._id, params=settings[place : place + 100])

    def losses(self, points: Sequence[tuple[int, float]]) -> None:
        self._log([("loss", loss, iteration) for iteration, loss in points])

    def end(
        self, status: str, reason: str, metrics: Mapping[str, float], facts: Mapping[str, str]
    ) -> None:
        self._log([(name, value, 0) for name, value in metrics.items()])
        for key, value in {"status": status, "reason": reason, **facts}.items():
            if value:
                self._client.set_tag(self._id, f"gclbench.{key}", value[:LONGEST])
        self._client.set_terminated(self._id, status=STATUS.get(status, "FAILED"))

    def _experiment(self) -> str:
        from mlflow.exceptions import MlflowException

        known = self._client.get_experiment_by_name(EXPERIMENT)
        if known is None:
            try:
                return str(self._client.create_experiment(EXPERIMENT))
            except MlflowException:  # another run has just made it
                known = self._client.get_experiment_by_name(EXPERIMENT)
                if known is None:
                    raise
        return str(known.experiment_id)

    def _log(self, values: Sequence[tuple[str, float, int]]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self._client.log_batch(
            self._id, metrics=[Metric(name, value, now, step) for name, value, step in values]
        )
