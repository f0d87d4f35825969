//! Between requests that are awaited and calls that block: threads, cancelling, deadlines, bodies.

use std::collections::BTreeMap;
use std::future::ready;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::BoxError;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Multipart, RawPathParams, Request};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt, iter, once, unfold};
use stationdb::bodies::{Download, ErrorResponse};
use stationdb::by_name::Reply;
use stationdb::files::ContentWriter;
use stationdb::serde_json::{self, Map, Value};
use stationdb::{Answer, Control, Error, ErrorKind, FromQuery, Identity, Result, Session, Store};
use tokio::{runtime::Handle, sync::mpsc, task::yield_now, time::timeout};

/// Bytes of the names and texts of a form together.
const TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Pieces of a stream that wait for its other end.
const PIECES: usize = 4;

/// What every route needs.
pub struct App {
    pub store: Store,
    /// How long a call may take.
    pub deadline: Duration,
    /// How long a client may take to send a piece of a body, or to take one.
    pub patience: Duration,
    /// Bytes of a body that is held as a whole. Contents are streams, and have no such bound.
    pub body_bytes: usize,
}

/// Cancels the work of a request when its client goes away, which drops the future that holds this.
pub struct CancelOnDrop(Control);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A request with what it asks for, and what ends the work when the request ends.
pub struct Task {
    pub call: Call,
    pub cancel: CancelOnDrop,
    pub request: Request,
}

impl Task {
    pub fn new(app: &Arc<App>, path: &RawPathParams, request: Request) -> Self {
        let control = Control::default().with_deadline(Instant::now() + app.deadline);
        // Nobody is authenticated here: the caller is who it says it is.
        let user = request.headers().get("x-user").and_then(|user| user.to_str().ok());
        let user = Identity::user(user.unwrap_or("anonymous"));
        let call = Call {
            session: app.store.session(user).with_control(&control),
            control: control.clone(),
            path: path.iter().map(|(_, value)| value.to_owned()).collect(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            body: Bytes::new(),
            kind: request.headers().get(header::CONTENT_TYPE).cloned(),
            app: app.clone(),
        };
        let request = request.map(|body| patient(body, app.patience));
        Self { call, cancel: CancelOnDrop(control), request }
    }
}

/// What a request asks for, beside a streamed body.
#[derive(Clone)]
pub struct Call {
    pub session: Session,
    pub control: Control,
    path: Vec<String>,
    query: String,
    body: Bytes,
    kind: Option<HeaderValue>,
    app: Arc<App>,
}

impl Call {
    /// The first part of the path that is not fixed.
    pub fn id<I: From<String>>(&self) -> I {
        self.part(0).to_owned().into()
    }

    pub fn part(&self, at: usize) -> &str {
        self.path.get(at).map_or("", String::as_str)
    }

    pub fn body<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        stationdb::from_json(&self.body)
    }

    pub fn query<T: FromQuery>(&self) -> Result<T> {
        stationdb::from_query(&self.query)
    }

    pub fn held(&self, body: &mut dyn Read) -> Result<Vec<u8>> {
        held(body, self.app.body_bytes)
    }

    pub fn has_type(&self, kind: &str) -> bool {
        let given = self.kind.as_ref().and_then(|given| given.to_str().ok());
        given.is_some_and(|given| given.to_ascii_lowercase().starts_with(kind))
    }
}

type Fields = BTreeMap<String, String>;
type Handler<T> = fn(&Session, &Call) -> Result<T>;
type BodyHandler<T> = fn(&Session, &Call, &mut dyn Read) -> Result<T>;
type DownloadHandler = fn(&Session, &Call, &mut (dyn Write + Send)) -> Result<u64>;

/// Runs work on a thread that may block.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let died = |error| Error::new(ErrorKind::Io, format!("the call gave no answer: {error}"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(died(error)))
}

fn sent(status: u16, json: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status == StatusCode::NO_CONTENT {
        return status.into_response();
    }
    (status, [(header::CONTENT_TYPE, "application/json")], json.into()).into_response()
}

fn write(status: u16, value: &impl serde::Serialize) -> Response {
    let json = serde_json::to_vec(value);
    json.map_or_else(
        |_| StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        |json| sent(status, json),
    )
}

pub fn failure(error: &Error) -> Response {
    write(error.status(), &ErrorResponse::from(error))
}

pub fn respond<T: Answer>(result: Result<T>) -> Response {
    match result {
        Ok(answer) => write(answer.status(), &answer),
        Err(error) => failure(&error),
    }
}

fn unread(error: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the body cannot be read: {error}"))
}

fn held(body: &mut dyn Read, most: usize) -> Result<Vec<u8>> {
    let mut held = Vec::new();
    body.take(most as u64 + 1).read_to_end(&mut held)?;
    let long = held.len() > most;
    if long { Err(Error::limit(format!("a body above {most} bytes"))) } else { Ok(held) }
}

/// A body that fails where its client sends nothing for this long. What the call leaves of it is
/// read for as long: a client that sends everything before it reads would miss the refusal.
fn patient(body: Body, patience: Duration) -> Body {
    let late = || axum::Error::new(io::Error::from(io::ErrorKind::TimedOut));
    let ((pieces, taken), mut body) = (mpsc::channel(1), body.into_data_stream());
    tokio::spawn(async move {
        while let Some(piece) =
            timeout(patience, body.next()).await.unwrap_or_else(|_| Some(Err(late())))
        {
            if pieces.send(piece).await.is_err() {
                return drop(timeout(patience, body.for_each(|_| ready(()))).await);
            }
        }
    });
    let next = |mut taken: mpsc::Receiver<_>| async move { Some((taken.recv().await?, taken)) };
    // A reader may ask again after the end.
    Body::from_stream(unfold(taken, next).fuse())
}

/// A call whose body is read as a whole.
async fn whole<T: Answer + Send + 'static>(asked: Task, work: Handler<T>) -> Result<T> {
    let Task { mut call, cancel: _cancel, request } = asked;
    call.body = to_bytes(request.into_body(), call.app.body_bytes).await.map_err(unread)?;
    blocking(move || work(&call.session, &call)).await
}

/// A call by hand whose body and answer are JSON.
pub async fn own<T: Answer + Send + 'static>(asked: Task, work: Handler<T>) -> Response {
    respond(whole(asked, work).await)
}

/// The members of a query string.
pub type QueryMembers = fn(&str) -> Result<Map<String, Value>>;

/// A call by name: the variable parts of the path are these members, and the query string has
/// others.
pub async fn named(
    mut asked: Task,
    operation: &'static str,
    path: &'static [&'static str],
    query: Option<QueryMembers>,
) -> Result<Reply> {
    // What stands in such a request behind its headers has no meaning.
    if matches!(*asked.request.method(), Method::GET | Method::DELETE) {
        *asked.request.body_mut() = Body::empty();
    }
    let Task { mut call, cancel: _cancel, request } = asked;
    call.body = to_bytes(request.into_body(), call.app.body_bytes).await.map_err(unread)?;
    blocking(move || {
        let mut members = query.map_or_else(|| Ok(Map::new()), |read| read(&call.query))?;
        members.extend(
            path.iter()
                .zip(&call.path)
                .map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str()))),
        );
        call.session.call_with(operation, members, &call.body)
    })
    .await
}

/// Answers a call by name.
pub fn json(reply: Result<Reply>) -> Response {
    reply.map_or_else(|error| failure(&error), |Reply { status, json, .. }| sent(status, json))
}

/// As `json`, for an operation that creates the record of its answer.
pub fn created(reply: Result<Reply>) -> Response {
    reply.map_or_else(|error| failure(&error), |reply| sent(201, reply.json))
}

/// As `json`, with the error record itself as the body of an error.
pub fn bare(reply: Result<Reply>) -> Response {
    match reply {
        Err(error) => write(error.status(), &error.api_error()),
        reply => json(reply),
    }
}

/// As `own`, or text where `csv` has one.
pub async fn page<T: Answer + Send + 'static>(
    asked: Task,
    csv: Handler<Option<String>>,
    work: Handler<T>,
) -> Response {
    let Task { mut call, cancel: _cancel, request } = asked;
    let answer = async {
        call.body = to_bytes(request.into_body(), call.app.body_bytes).await.map_err(unread)?;
        blocking(move || match csv(&call.session, &call)? {
            Some(text) => {
                Ok(([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response())
            }
            None => Ok(respond(work(&call.session, &call))),
        })
        .await
    };
    answer.await.unwrap_or_else(|error: Error| failure(&error))
}

/// A body as a reader, for a thread that may block. One that ends early is an error, never an end.
struct BodyReader<S>(S, Bytes);

impl<S: Stream<Item = Result<Bytes, E>> + Unpin, E: Into<BoxError>> Read for BodyReader<S> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        while self.1.is_empty() {
            let Some(piece) = Handle::current().block_on(self.0.next()) else { return Ok(0) };
            self.1 = piece.map_err(io::Error::other)?;
        }
        let count = self.1.as_ref().read(target)?;
        drop(self.1.split_to(count));
        Ok(count)
    }
}

pub async fn stream<T: Answer + Send + 'static>(asked: Task, work: BodyHandler<T>) -> Response {
    let Task { call, cancel: _cancel, request } = asked;
    let mut body = BodyReader(request.into_body().into_data_stream(), Bytes::new());
    respond(blocking(move || work(&call.session, &call, &mut body)).await)
}

pub fn fill(mut content: ContentWriter, body: &mut dyn Read) -> Result<ContentWriter> {
    Ok(io::copy(body, &mut content).map(|_| content)?)
}

/// A form whose parts come in any order. `write` takes its file when it comes, and `commit` names
/// it when all parts are there.
pub async fn form<W: 'static, T: Answer + Send + 'static>(
    asked: Task,
    write: BodyHandler<W>,
    commit: fn(&Session, &Call, W, Option<String>, Fields) -> Result<T>,
) -> Response {
    let Task { call, cancel: _cancel, request } = asked;
    // multer 3.1 refuses a form whose begin and end come between its first two looks at the body.
    let end = once(yield_now()).filter_map(|()| ready(None));
    let request = request.map(|body| Body::from_stream(body.into_data_stream().chain(end)));
    let parts = Multipart::from_request(request, &()).await;
    let work = move || {
        let write = |body: &mut dyn Read| write(&call.session, &call, body);
        let (content, name, fields) = read_form(parts.map_err(unread)?, write)?;
        commit(&call.session, &call, content, name, fields)
    };
    respond(blocking(work).await)
}

fn read_form<W>(
    mut parts: Multipart,
    write: impl Fn(&mut dyn Read) -> Result<W>,
) -> Result<(W, Option<String>, Fields)> {
    let (mut file, mut fields, mut room) = (None, BTreeMap::new(), TEXT_BYTES);
    while let Some(part) = Handle::current().block_on(parts.next_field()).map_err(unread)? {
        let name = part.name().unwrap_or_default().to_owned();
        let file_name = part.file_name().map(str::to_owned);
        // Clients give the texts a file name, too.
        let is_file = matches!(&*name, "file" | "package")
            || (file_name.is_some() && name != "id" && name != "metadata");
        if if is_file { file.is_some() } else { fields.contains_key(&name) } {
            return Err(Error::invalid("the form has this part twice").at_member(name));
        }
        let mut body = BodyReader(part, Bytes::new());
        if is_file {
            file = Some((write(&mut body)?, file_name));
            continue;
        }
        let text = held(&mut name.as_bytes().chain(body), room);
        let mut text = text.map_err(|error| error.at_member(&*name))?;
        room -= text.len();
        let text = String::from_utf8(text.split_off(name.len()));
        let text = text.map_err(|_| Error::invalid("the part is not UTF-8").at_member(&*name))?;
        fields.insert(name, text);
    }
    let none = || Error::invalid("the form has no part `file`").at_member("file");
    let (content, file_name) = file.ok_or_else(none)?;
    Ok((content, file_name, fields))
}

/// A response as a writer. It waits this long for a slow client, and fails when the client is gone.
struct BodyWriter(mpsc::Sender<Result<Bytes>>, Duration);

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Ok(Bytes::copy_from_slice(bytes));
        let sent = Handle::current().block_on(self.0.send_timeout(piece, self.1));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A call whose answer is bytes. What fails before the first of them has a status; later the
/// connection is cut, so that no client takes a part for the whole.
pub async fn bytes(asked: Task, head: Handler<Download>, work: DownloadHandler) -> Response {
    let Task { mut call, cancel, request } = asked;
    let answer = async {
        call.body = to_bytes(request.into_body(), call.app.body_bytes).await.map_err(unread)?;
        let asked = call.clone();
        let head = blocking(move || head(&asked.session, &asked)).await?;
        let (pieces, mut written) = mpsc::channel(PIECES);
        tokio::spawn(blocking(move || {
            let writer = BodyWriter(pieces.clone(), call.app.patience);
            let mut target = io::BufWriter::with_capacity(64 * 1024, writer);
            let done = work(&call.session, &call, &mut target).and_then(|_| Ok(target.flush()?));
            // An empty piece marks the end. Without it the connection is cut.
            let done = done.and_then(|()| Ok(target.get_mut().write(&[])?));
            done.inspect_err(|error| drop(pieces.try_send(Err(error.clone()))))
        }));
        // An error before the first piece has a status.
        let cut = || Err(Error::new(ErrorKind::Io, "the call ended without its answer"));
        let first = written.recv().await.unwrap_or_else(cut)?;
        let rest = (!first.is_empty()).then_some((written, cancel));
        // Dropped with the body, `cancel` ends the work.
        let rest = unfold(rest, move |rest| async move {
            let (mut written, cancel) = rest?;
            let piece = written.recv().await.unwrap_or_else(cut);
            let is_end = piece.as_ref().is_ok_and(Bytes::is_empty);
            (!is_end).then_some((piece, Some((written, cancel))))
        });
        let headers = [
            (header::CONTENT_TYPE, head.content_type.to_owned()),
            (header::CONTENT_DISPOSITION, head.content_disposition()),
        ];
        Ok((headers, Body::from_stream(iter([Ok(first)]).chain(rest))).into_response())
    };
    answer.await.unwrap_or_else(|error: Error| failure(&error))
}
