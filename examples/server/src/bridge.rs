//! Between requests that are awaited and calls that block: threads, cancelling, deadlines, and bodies in both directions.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Multipart, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::future::join;
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};
use stationdb::bodies::{Download, ErrorResponse};
use stationdb::{Answer, Control, Error, ErrorKind, FromQuery, Identity, Result, Session, Store};
use tokio::sync::mpsc;

/// Bytes of a body that is read as a whole. Contents are streams, and have no such bound here.
const BODY_BYTES: usize = 256 * 1024 * 1024;
/// Pieces of a stream that wait for its other end.
const PIECES: usize = 4;
const PIECE_BYTES: usize = 64 * 1024;

/// What every route needs.
pub struct App {
    pub store: Store,
    /// How long a call may take.
    pub deadline: Duration,
}

/// Cancels the work of a request when its client goes away, which drops the future that holds this.
pub struct CancelOnDrop(Control);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What a request asks for, beside a streamed body.
#[derive(Clone)]
pub struct Call {
    /// Acts for the caller; every call through it ends with the request.
    pub session: Session,
    pub control: Control,
    path: Vec<String>,
    query: String,
    body: Bytes,
}

impl Call {
    /// The session, the arguments, and what ends the work when the request ends.
    pub fn new(app: &App, path: &RawPathParams, request: &Request) -> (Self, CancelOnDrop) {
        let control = Control::default().with_deadline(Instant::now() + app.deadline);
        // Nobody is authenticated here: the caller is who it says it is.
        let user = request.headers().get("x-user").and_then(|user| user.to_str().ok()).unwrap_or("anonymous");
        let call = Self {
            session: app.store.session(Identity::user(user)).with_control(&control),
            control: control.clone(),
            path: path.iter().map(|(_, value)| value.to_owned()).collect(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            body: Bytes::new(),
        };
        (call, CancelOnDrop(control))
    }

    /// The first part of the path that is not fixed.
    pub fn id<I: From<String>>(&self) -> I {
        self.part(0).to_owned().into()
    }

    /// A part of the path that is not fixed.
    pub fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    pub fn body<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        stationdb::from_json(&self.body)
    }

    pub fn query<T: FromQuery>(&self) -> Result<T> {
        stationdb::from_query(&self.query)
    }

    pub fn query_and_body<T: FromQuery>(&self) -> Result<T> {
        stationdb::from_query_and_json(&self.query, &self.body)
    }
}

/// Whether the body of a request has this media type.
pub fn has_type(request: &Request, media_type: &str) -> bool {
    let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().is_some_and(|given| given.trim().eq_ignore_ascii_case(media_type))
}

/// Runs work on a thread that may block.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let died = |error| Error::new(ErrorKind::Io, format!("the call ended without an answer: {error}"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(died(error)))
}

/// JSON with a status.
pub fn write(status: u16, value: &impl serde::Serialize) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match serde_json::to_vec(value) {
        Ok(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

pub fn failure(error: &Error) -> Response {
    write(error.status(), &ErrorResponse::from(error))
}

pub fn respond<T: Answer>(result: Result<T>) -> Response {
    match result {
        Ok(answer) if answer.status() == 204 => StatusCode::NO_CONTENT.into_response(),
        Ok(answer) => write(answer.status(), &answer),
        Err(error) => failure(&error),
    }
}

/// A call whose body is read as a whole.
pub async fn whole<T: Answer + Send + 'static>(
    app: Arc<App>,
    path: RawPathParams,
    request: Request,
    work: fn(&Session, &Call) -> Result<T>,
) -> Result<T> {
    let (mut call, _cancel) = Call::new(&app, &path, &request);
    call.body = to_bytes(request.into_body(), BODY_BYTES).await.map_err(|error| {
        Error::limit(format!("the body cannot be read as a whole, up to {BODY_BYTES} bytes: {error}"))
    })?;
    blocking(move || work(&call.session, &call)).await
}

/// A body as a reader. One that ends early is an error, never an end.
struct BodyReader {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
    is_complete: bool,
}

impl Read for BodyReader {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !self.is_complete {
            self.piece = self.pieces.blocking_recv().ok_or(io::ErrorKind::UnexpectedEof)?;
            self.is_complete = self.piece.is_empty();
        }
        let count = self.piece.len().min(target.len());
        let piece = self.piece.split_to(count);
        for (target, byte) in target.iter_mut().zip(piece) {
            *target = byte;
        }
        Ok(count)
    }
}

/// Runs work that reads a body while it arrives. At most a few pieces are in memory.
pub async fn reading<T: Send + 'static, E>(
    mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
    work: impl FnOnce(&mut dyn Read) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, pieces) = mpsc::channel(PIECES);
    let feed = async move {
        while let Some(piece) = body.next().await {
            // Without the end mark below the reader fails.
            let Ok(piece) = piece else { return };
            if !piece.is_empty() && sender.send(piece).await.is_err() {
                return;
            }
        }
        // The mark that the body is complete. Nobody waits for it where the work has ended.
        let _ = sender.send(Bytes::new()).await;
    };
    let work = blocking(move || work(&mut BodyReader { pieces, piece: Bytes::new(), is_complete: false }));
    join(feed, work).await.1
}

/// A call that reads its body while it arrives.
pub async fn upload<T: Answer + Send + 'static>(
    app: Arc<App>,
    path: RawPathParams,
    request: Request,
    work: fn(&Session, &Call, &mut dyn Read) -> Result<T>,
) -> Result<T> {
    let (call, _cancel) = Call::new(&app, &path, &request);
    reading(request.into_body().into_data_stream(), move |body| work(&call.session, &call, body)).await
}

/// The parts of a form, each handed to `part`.
pub async fn form(request: Request) -> Result<Multipart> {
    Multipart::from_request(request, &()).await.map_err(|error| Error::invalid(error.to_string()))
}

/// What a part of a form that cannot be read is.
pub fn bad_form(error: axum::extract::multipart::MultipartError) -> Error {
    Error::invalid(format!("the form cannot be read: {error}"))
}

/// A response as a writer. It waits for a slow client, and fails when the client is gone.
pub struct BodyWriter {
    pieces: mpsc::Sender<io::Result<Bytes>>,
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.pieces.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A call whose answer is bytes. What fails before the first of them has a status; later the connection is cut, so that
/// no client takes a part for the whole.
pub async fn download(
    app: Arc<App>,
    path: RawPathParams,
    request: Request,
    head: fn(&Session, &Call) -> Result<Download>,
    work: fn(&Session, &Call, &mut (dyn Write + Send)) -> Result<u64>,
) -> Result<Response> {
    let (mut call, cancel) = Call::new(&app, &path, &request);
    call.body = to_bytes(request.into_body(), BODY_BYTES).await.map_err(|error| Error::limit(error.to_string()))?;
    let asked = call.clone();
    let head = blocking(move || head(&asked.session, &asked)).await?;
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let done = tokio::spawn(blocking(move || {
        let mut target = io::BufWriter::with_capacity(PIECE_BYTES, BodyWriter { pieces: sender.clone() });
        let written = work(&call.session, &call, &mut target).and_then(|_| Ok(target.flush()?));
        // The first piece, if there was none: then the caller below takes the error itself.
        written.inspect_err(|error| drop(sender.blocking_send(Err(io::Error::other(error.clone())))))
    }));
    let first = match pieces.recv().await {
        Some(Err(error)) => return Err(error.into()),
        first => first.and_then(io::Result::ok),
    };
    // Dropped with the body, the guard ends the work.
    let rest = unfold((first.map(Ok), pieces, cancel), |(first, mut pieces, cancel)| async move {
        let piece = match first {
            Some(piece) => Some(piece),
            None => pieces.recv().await,
        };
        piece.map(|piece| (piece, (None, pieces, cancel)))
    });
    drop(done);
    let headers = [(CONTENT_TYPE, head.content_type.to_owned()), (CONTENT_DISPOSITION, head.content_disposition())];
    Ok((headers, Body::from_stream(rest)).into_response())
}
