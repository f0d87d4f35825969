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
use futures_util::stream::{iter, unfold};
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
        let user = header(&request, "x-user").unwrap_or("anonymous");
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

fn header<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    request.headers().get(name)?.to_str().ok()
}

type Json<T> = fn(&Session, &Call) -> Result<T>;
type Streamed<T> = fn(&Session, &Call, &mut dyn Read) -> Result<T>;
type Written = fn(&Session, &Call, &mut (dyn Write + Send)) -> Result<u64>;

/// Runs work on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let died = |error| Error::new(ErrorKind::Io, format!("the call gave no answer: {error}"));
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
    let bad = |e| Error::limit(format!("the body cannot be read up to {BODY_BYTES} bytes: {e}"));
    to_bytes(request.into_body(), BODY_BYTES).await.map_err(bad)
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
    match whole(asked, work).await {
        Err(error) => write(error.status(), &error.api_error()),
        answer => respond(answer),
    }
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
        let count = self.piece.as_ref().read(target)?;
        drop(self.piece.split_to(count));
        Ok(count)
    }
}

/// Runs work that reads a body while it arrives. At most a few pieces are in memory.
async fn reading<T: Send + 'static, E>(
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
    let mut reader = BodyReader { pieces, piece: Bytes::new(), is_complete: false };
    join(feed, blocking(move || work(&mut reader))).await.1
}

/// A call that reads its body while it arrives.
pub async fn stream<T: Answer + Send + 'static>(asked: Asked, work: Streamed<T>) -> Response {
    let Asked { call, cancel: _cancel, request } = asked;
    let body = request.into_body().into_data_stream();
    respond(reading(body, move |body| work(&call.session, &call, body)).await)
}

/// Rows as JSON or as an Arrow stream.
pub async fn rows<T: Answer + Send + 'static>(
    asked: Asked,
    json_rows: Json<T>,
    arrow: Streamed<T>,
) -> Response {
    let given = header(&asked.request, "content-type").and_then(|given| given.split(';').next());
    match given.map(|given| given.trim().to_ascii_lowercase()).as_deref() {
        Some("application/vnd.apache.arrow.stream") => stream(asked, arrow).await,
        _ => json(asked, json_rows).await,
    }
}

/// A form with one file, whose content is written.
pub struct Form {
    pub content: ContentWriter,
    pub file_name: Option<String>,
    pub fields: BTreeMap<String, Bytes>,
}

/// A form whose parts come in any order. `open` writes its file when it comes, and `commit` names
/// it when all parts are there.
pub async fn form<T: Answer + Send + 'static>(
    asked: Asked,
    open: Json<ContentWriter>,
    commit: fn(&Session, &Call, Form) -> Result<T>,
) -> Response {
    let Asked { call, cancel: _cancel, request } = asked;
    let bad = |error: MultipartError| Error::invalid(format!("the form cannot be read: {error}"));
    let work = async {
        let parts = Multipart::from_request(request, &()).await;
        let mut parts = parts.map_err(|error| Error::invalid(error.to_string()))?;
        let (mut file, mut fields) = (None, BTreeMap::new());
        while let Some(part) = parts.next_field().await.map_err(bad)? {
            let name = part.name().unwrap_or_default().to_owned();
            let file_name = part.file_name().map(str::to_owned);
            if name == "file" || file_name.is_some() {
                let call = call.clone();
                let copy = move |body: &mut dyn Read| {
                    let mut content = open(&call.session, &call)?;
                    io::copy(body, &mut content)?;
                    Ok(content)
                };
                file = Some((reading(part, copy).await?, file_name));
            } else {
                fields.insert(name, part.bytes().await.map_err(bad)?);
            }
        }
        let none = || Error::invalid("the form has no part `file`").at_member("file");
        let (content, file_name) = file.ok_or_else(none)?;
        let form = Form { content, file_name, fields };
        blocking(move || commit(&call.session, &call, form)).await
    };
    respond(work.await)
}

/// A response as a writer. It waits for a slow client, and fails when the client is gone.
struct BodyWriter(mpsc::Sender<io::Result<Bytes>>);

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
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
            let writer = BodyWriter(pieces.clone());
            let mut target = io::BufWriter::with_capacity(PIECE_BYTES, writer);
            let done = work(&call.session, &call, &mut target).and_then(|_| Ok(target.flush()?));
            done.inspect_err(|e| drop(pieces.blocking_send(Err(io::Error::other(e.clone())))))
        }));
        // An error before the first piece has a status.
        let first = written.recv().await.transpose()?;
        // Dropped with the body, `cancel` ends the work.
        let rest = unfold((written, cancel), async |(mut written, cancel)| {
            Some((written.recv().await?, (written, cancel)))
        });
        let headers = [
            (CONTENT_TYPE, head.content_type.to_owned()),
            (CONTENT_DISPOSITION, head.content_disposition()),
        ];
        Ok((headers, Body::from_stream(iter(first.map(Ok)).chain(rest))).into_response())
    };
    answer.await.unwrap_or_else(|error: Error| failure(&error))
}
