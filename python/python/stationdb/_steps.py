"""Steps of results, which have their ids from those who make them."""

from __future__ import annotations

from typing import Any

from . import services
from ._stationdb import RecordView
from ._record import merged, wire_names
from .errors import NotFoundError
from .records import Step, UpdateStepRequest

__all__ = ["Steps"]


class Steps(services.Steps):
    """The steps of results.

    A step is known by its result and its own id, which two results may share. Where the result is
    left out, the id has to be that of one step alone.

    >>> result = db.results.create(program_name="P", status={"statusType": "RUNNING"})
    >>> step = db.steps.create(result_id=result.id, step_id="power", name="Power")
    >>> db.steps.get("power").name
    'Power'
    >>> db.steps.update("power", result_id=result.id, name="Power up").name
    'Power up'
    """

    __slots__ = ()

    def _result_of(self, id: str, result_id: str | None) -> str:
        if result_id is not None:
            return result_id
        found = self.query("stepId == @0", id, take=2).all()
        if len(found) != 1:
            why = f"{len(found)} or more steps have the id {id!r}" if found else f"no step has the id {id!r}"
            raise NotFoundError(f"{why}; give the one of a result, with result_id=")
        return found[0].result_id or ""

    def get(self, id: str, *, result_id: str | None = None) -> Step:
        """The step with this id, of this result. Raises `NotFoundError`."""
        return Step.from_dict(self.view(id, result_id=result_id).to_dict())

    def view(self, id: str, *, result_id: str | None = None) -> RecordView:
        """The step with this id, whose members become objects of Python when they are asked for."""
        of = self._result_of(id, result_id)
        return self._services._core.view_step(of, id, wire_names(Step))

    def update(
        self, id: str, /, *, result_id: str | None = None, replace: bool = False, **fields: Any
    ) -> Step:
        """Changes members of a step; the others stay.

        Keywords and properties are added to what is stored; with `replace` they take its place.
        Raises `NotFoundError`, and `InvalidArgumentError` for a member that is wrong.
        """
        of = self._result_of(id, result_id)
        change = merged(UpdateStepRequest, {"stepId": id, "resultId": of}, fields)
        flags = {"replace_keywords": replace, "replace_properties": replace}
        self._all_done(self._call("update_steps", {"steps": [change], **flags}))
        return self.get(id, result_id=of)

    def delete(self, *ids: str, result_id: str | None = None) -> None:
        """Deletes the steps with these ids. Those below them stay, with their parent's id.

        Raises `PartialFailureError` if some could not be deleted; the others are.
        """
        pairs = [{"resultId": self._result_of(id, result_id), "stepId": id} for id in ids]
        if pairs:
            self._all_done(self._call("delete_steps", {"steps": pairs}))
