//! Between requests that are awaited and calls that block: threads, cancelling, deadlines, bodies.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::future::join;
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt};
use stationdb::bodies::{Download, ErrorResponse};
use stationdb::files::ContentWriter;
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

/// A request with what it asks for, and what ends the work when the request ends.
pub struct Asked {
    pub call: Call,
    pub cancel: CancelOnDrop,
    pub request: Request,
}

impl Asked {
    pub fn new(app: &App, path: &RawPathParams, request: Request) -> Self {
        let control = Control::default().with_deadline(Instant::now() + app.deadline);
        // Nobody is authenticated here: the caller is who it says it is.
        let user = request
            .headers()
            .get("x-user")
            .and_then(|user| user.to_str().ok())
            .unwrap_or("anonymous");
        let call = Call {
            session: app.store.session(Identity::user(user)).with_control(&control),
            control: control.clone(),
            path: path.iter().map(|(_, value)| value.to_owned()).collect(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            body: Bytes::new(),
        };
        Self { call, cancel: CancelOnDrop(control), request }
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
    let given = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    given.split(';').next().is_some_and(|given| given.trim().eq_ignore_ascii_case(media_type))
}

type Json<T> = fn(&Session, &Call) -> Result<T>;
type Written = fn(&Session, &Call, &mut (dyn Write + Send)) -> Result<u64>;

/// Runs work on a thread that may block.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let died =
        |error| Error::new(ErrorKind::Io, format!("the call ended without an answer: {error}"));
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

async fn whole_body(request: Request) -> Result<Bytes> {
    let refused =
        |error| Error::limit(format!("the body cannot be read up to {BODY_BYTES} bytes: {error}"));
    to_bytes(request.into_body(), BODY_BYTES).await.map_err(refused)
}

/// A call whose body is read as a whole.
async fn whole<T: Answer + Send + 'static>(asked: Asked, work: Json<T>) -> Result<T> {
    let Asked { mut call, cancel: _cancel, request } = asked;
    call.body = whole_body(request).await?;
    blocking(move || work(&call.session, &call)).await
}

/// JSON in both directions.
pub async fn json<T: Answer + Send + 'static>(asked: Asked, work: Json<T>) -> Response {
    respond(whole(asked, work).await)
}

/// As `json`, with the error record itself as the body of an error.
pub async fn bare<T: Answer + Send + 'static>(asked: Asked, work: Json<T>) -> Response {
    let answer = whole(asked, work).await;
    answer
        .as_ref()
        .err()
        .map(|error| write(error.status(), &error.api_error()))
        .unwrap_or_else(|| respond(answer))
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
    let work =
        blocking(move || work(&mut BodyReader { pieces, piece: Bytes::new(), is_complete: false }));
    join(feed, work).await.1
}

/// A call that reads its body while it arrives.
pub async fn stream<T: Answer + Send + 'static>(
    asked: Asked,
    work: fn(&Session, &Call, &mut dyn Read) -> Result<T>,
) -> Response {
    let Asked { call, cancel: _cancel, request } = asked;
    respond(
        reading(request.into_body().into_data_stream(), move |body| {
            work(&call.session, &call, body)
        })
        .await,
    )
}

/// A form with one file.
pub struct Form {
    pub content: ContentWriter,
    pub file_name: Option<String>,
    pub fields: BTreeMap<String, Bytes>,
}

/// Reads a form whose parts come in any order; its file is written by `open` when it comes.
pub async fn form(
    call: &Call,
    request: Request,
    open: fn(&Session, &Control) -> Result<ContentWriter>,
) -> Result<Form> {
    let bad = |error: MultipartError| Error::invalid(format!("the form cannot be read: {error}"));
    let parts = Multipart::from_request(request, &()).await;
    let mut parts = parts.map_err(|error| Error::invalid(error.to_string()))?;
    let (mut file, mut fields) = (None, BTreeMap::new());
    while let Some(part) = parts.next_field().await.map_err(bad)? {
        let (name, file_name) =
            (part.name().unwrap_or_default().to_owned(), part.file_name().map(str::to_owned));
        if name == "file" || file_name.is_some() {
            let call = call.clone();
            let copy = move |body: &mut dyn Read| {
                let mut content = open(&call.session, &call.control)?;
                io::copy(body, &mut content)?;
                Ok(content)
            };
            file = Some((reading(part, copy).await?, file_name));
        } else {
            fields.insert(name, part.bytes().await.map_err(bad)?);
        }
    }
    let (content, file_name) =
        file.ok_or_else(|| Error::invalid("the form has no part `file`").at_member("file"))?;
    Ok(Form { content, file_name, fields })
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

/// A call whose answer is bytes. What fails before the first of them has a status; later the
/// connection is cut, so that no client takes a part for the whole.
pub async fn bytes(asked: Asked, head: Json<Download>, work: Written) -> Response {
    let Asked { mut call, cancel, request } = asked;
    let answer = async {
        call.body = whole_body(request).await?;
        let asked = call.clone();
        let head = blocking(move || head(&asked.session, &asked)).await?;
        let (pieces, mut written) = mpsc::channel(PIECES);
        tokio::spawn(blocking(move || {
            let mut target =
                io::BufWriter::with_capacity(PIECE_BYTES, BodyWriter { pieces: pieces.clone() });
            let done = work(&call.session, &call, &mut target).and_then(|_| Ok(target.flush()?));
            done.inspect_err(|error| {
                drop(pieces.blocking_send(Err(io::Error::other(error.clone()))))
            })
        }));
        // An error before the first piece has a status.
        let first = written.recv().await.transpose()?;
        // Dropped with the body, `cancel` ends the work.
        let rest = unfold((first, written, cancel), |(first, mut written, cancel)| async move {
            let piece =
                if let Some(first) = first { Some(Ok(first)) } else { written.recv().await };
            piece.map(|piece| (piece, (None, written, cancel)))
        });
        let headers = [
            (CONTENT_TYPE, head.content_type.to_owned()),
            (CONTENT_DISPOSITION, head.content_disposition()),
        ];
        Ok((headers, Body::from_stream(rest)).into_response())
    };
    answer.await.unwrap_or_else(|error: Error| failure(&error))
}
