"""A server that speaks Qdrant's REST over an embedded client: what is sent is really sent."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QdrantServer(ThreadingHTTPServer):
    """Start it with ``with``; ``url`` is where it listens."""

    daemon_threads = True

    def __init__(self, *, key=""):
        import qdrant_client  # takes a second, and slow tests alone use it

        super().__init__(("127.0.0.1", 0), _Handler)
        self.client, self.models = qdrant_client.QdrantClient(":memory:"), qdrant_client.models
        self.lock = threading.Lock()
        self.key = key
        self.seconds = 0.0
        """How long it thinks about each request."""
        self.awake = threading.Event()
        self.requests: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_exc):
        self.awake.set()
        self.shutdown()
        self.server_close()
        self.client.close()


class _Handler(BaseHTTPRequestHandler):
    server: QdrantServer

    def log_message(self, *_args):
        pass

    def do_GET(self):
        self._answer()

    do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 the base class calls them so

    def _answer(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append(f"{self.command} {self.path}")
        if self.server.seconds:
            self.server.awake.wait(self.server.seconds)
        if self.server.key and self.headers.get("api-key") != self.server.key:
            self._send(403, {"status": {"error": "forbidden"}})
            return
        found = re.match(r"/collections/([^/?]+)/?([^?]*)", self.path)
        assert found, self.path
        name = found[1].replace("%7E", "~")
        with self.server.lock:
            try:
                result = self._call(name, f"{self.command} {found[2]}", json.loads(data or b"{}"))
            except ValueError as error:
                code = 404 if "not found" in str(error) else 400
                self._send(code, {"status": {"error": str(error)}})
                return
        if hasattr(result, "model_dump"):
            result = result.model_dump(mode="json")
        self._send(200, {"result": result, "status": "ok", "time": 0.0})

    def _call(self, name, what, body):
        client, models = self.server.client, self.server.models
        matching = models.Filter(**body["filter"]) if body.get("filter") else None
        match what:
            case "GET exists":
                return {"exists": client.collection_exists(name)}
            case "PUT ":
                made = models.CreateCollection(**body)
                return client.create_collection(
                    name, vectors_config={}, sparse_vectors_config=made.sparse_vectors
                )
            case "DELETE ":
                return client.delete_collection(name)
            case "PUT index":
                return {"operation_id": 0, "status": "completed"}
            case "POST points":
                found = client.retrieve(name, body["ids"], with_payload=body["with_payload"])
                return [one.model_dump(mode="json") for one in found]
            case "PUT points":
                points = models.PointsList(**body)
                return client.upsert(name, points.points, update_filter=points.update_filter)
            case "POST points/delete":
                chosen = body.get("points") or models.FilterSelector(filter=matching)
                return client.delete(name, chosen)
            case "POST points/scroll":
                how = {"limit": body["limit"], "with_payload": body["with_payload"]}
                points, following = client.scroll(
                    name, scroll_filter=matching, offset=body.get("offset"), **how
                )
                points = [one.model_dump(mode="json") for one in points]
                return {"points": points, "next_page_offset": following}
            case "POST points/count":
                return client.count(name)
            case "POST points/query":
                vector = models.SparseVector(**body["query"]["nearest"])
                return client.query_points(
                    name, query=vector, using=body["using"], limit=body["limit"], with_payload=False
                )
        raise AssertionError(what)

    def _send(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
