"""The route that takes the file of an import."""

from typing import Final

from service_core.api.host_routes.models import (
    JSON,
    Content,
    Host,
    HostResponse,
    HostRoute,
    HostRoutes,
    path_parameter,
    query_parameter,
    reference,
)

_FILE: Final = "application/octet-stream"
_IMPORT_ID: Final = "0197d2a4-6b1e-7c3f-9a55-2f1c8e0b7d44"
_STORED_EXAMPLE: Final = {"id": _IMPORT_ID, "status": "checking"}
_TOO_LARGE_EXAMPLE: Final = {
    "error": "The file is larger than 2,147,483,648 bytes",
    "code": "payload_too_large",
}
_REFUSED_EXAMPLE: Final = {"error": "The link is not valid or has ended", "code": "invalid_signature"}

_ROUTES: Final = (
    HostRoute(
        "PUT",
        "/imports/upload/{importId}",
        Host.API,
        "upload_import_file",
        "imports",
        "Upload the file of an import",
        "Takes the bytes of the file at the link that `POST /v1/imports` gave; the link is the only credential, and takes one "
        "file. The largest file is `exports.max_import_bytes`, 2 GB unless the deployment says otherwise.",
        {
            200: HostResponse(
                "The file is stored; a worker checks it.",
                (Content(JSON, reference("UploadedImportFile"), _STORED_EXAMPLE),),
            ),
            403: HostResponse(
                "The link is not valid or has ended.",
                (Content(JSON, reference("IngestError"), _REFUSED_EXAMPLE),),
            ),
            "default": HostResponse(
                "The file is not stored.", (Content(JSON, reference("IngestError"), _TOO_LARGE_EXAMPLE),)
            ),
        },
        parameters=(
            path_parameter("importId", "Id of the import.", _IMPORT_ID),
            query_parameter("expires", "Unix time at which the link ends.", "1767225600", required=True),
            query_parameter("sig", "Signature of the link.", "9f2c", required=True),
        ),
        body=Content(_FILE, {"type": "string", "format": "binary"}, "event,user_id\r\nsignup,u_42\r\n"),
    ),
)

IMPORT_ROUTES: Final = HostRoutes(
    _ROUTES,
    {
        "UploadedImportFile": {
            "title": "UploadedImportFile",
            "type": "object",
            "required": ["id", "status"],
            "properties": {"id": {"type": "string"}, "status": {"type": "string"}},
        }
    },
)
