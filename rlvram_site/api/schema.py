"""What every operation of the API can also answer, added to its own schema."""

from __future__ import annotations

from typing import Any

_ALWAYS = {
    "400": "A field or parameter is wrong; it is named with its value and what was expected",
    "401": "No key or session, or one that is not valid (any more)",
    "403": "The key or role lacks the scope, or the key is bound to another study",
    "404": "There is no such record",
    "406": "The Accept header asks for a form that does not exist",
    "429": "Over the rate limit; Retry-After says when to try again",
    "500": "Something failed on our side; sent again, what was recorded is found and not recorded twice",
    "503": "The database can't be reached at the moment",
}
_WRITES = {
    "409": "Already recorded with other content, or not possible any more; nothing was changed",
    "411": "The body comes in chunks without its length",
    "412": "The request's own condition does not hold",
    "413": "The body is over its limit, or the study over its limit of evidence",
    "415": "The body's media type is not accepted",
    "507": "The site's disk is nearly full; nothing was kept, and Retry-After says when to try again",
}


def document_errors(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Give each operation the error answers, all in one shape, and reads their 304."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for operations in result["paths"].values():
        for method, operation in operations.items():
            if not isinstance(operation, dict) or "responses" not in operation:
                continue
            if method != "get":
                operation["parameters"] = [
                    item for item in operation.get("parameters", []) if item["in"] == "path"
                ]
            if body := operation.get("requestBody"):
                body["required"] = True
                if len(body["content"]) > 1:
                    # A client that is generated for a choice of bodies is broken where one is required.
                    del body["required"]
            for answer in operation["responses"].values():
                if "text/csv" in answer.get("content", {}):
                    answer["content"]["text/csv"] = {"schema": {"type": "string"}}
            answers = _ALWAYS if method == "get" else {**_ALWAYS, **_WRITES}
            for status, description in answers.items():
                operation["responses"].setdefault(status, {"description": description, "content": content})
            if method == "get":
                operation["responses"].setdefault(
                    "304", {"description": "Unchanged since the tag in If-None-Match"}
                )
    return result
