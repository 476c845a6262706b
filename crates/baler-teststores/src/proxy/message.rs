//! As much of HTTP/1.1 as a proxy must understand to know where a request ends.

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncRead, AsyncReadExt};

const HEAD_BYTES_MAX: usize = 64 << 10;

const HEAD_END: &[u8] = b"\r\n\r\n";

/// A request, as it came.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) method: String,
    pub(super) target: String,
    head: String,
    body: Vec<u8>,
}

impl Message {
    /// Reads one; `None` if the connection was closed instead.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> Result<Option<Self>> {
        let mut bytes = Vec::new();
        while head_length(&bytes) == bytes.len() && !bytes.ends_with(HEAD_END) {
            ensure!(bytes.len() < HEAD_BYTES_MAX, "the head of a request does not end");
            if from.read_buf(&mut bytes).await? == 0 {
                return Ok(None);
            }
        }
        let body = bytes.split_off(head_length(&bytes));
        let head = String::from_utf8(bytes)?;
        let mut words = head.split(' ');
        let (method, target) = (words.next(), words.next());
        let mut message = Self {
            method: method.context("no method")?.to_owned(),
            target: target.context("no target")?.to_owned(),
            body,
            head,
        };
        message.read_body(from).await?;
        Ok(Some(message))
    }

    async fn read_body(&mut self, from: &mut (impl AsyncRead + Unpin)) -> Result<()> {
        if self.header("transfer-encoding").is_some() {
            bail!("the proxy knows no chunked requests");
        }
        let length: usize = self.header("content-length").unwrap_or("0").parse()?;
        while self.body.len() < length {
            ensure!(from.read_buf(&mut self.body).await? > 0, "the body ends early");
        }
        Ok(())
    }

    fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = fields
            .into_iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    /// As it came, but for the wish that the server close the connection: so the end of the answer is the end of the
    /// stream.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (first_line, fields) = self.head.split_once("\r\n").unwrap_or((&self.head, "\r\n"));
        let mut bytes = format!("{first_line}\r\nConnection: close\r\n").into_bytes();
        for field in fields.split_inclusive("\r\n") {
            let is_connection = field.to_ascii_lowercase().starts_with("connection:");
            if !is_connection {
                bytes.extend_from_slice(field.as_bytes());
            }
        }
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Where the body begins; where all ends if the head does not.
pub(super) fn head_length(bytes: &[u8]) -> usize {
    let found = bytes.windows(HEAD_END.len()).position(|four| four == HEAD_END);
    found.map_or(bytes.len(), |at| at + HEAD_END.len())
}

/// An answer of the proxy's own.
pub(super) fn answer(status: u16) -> Vec<u8> {
    let code = match status {
        409 => "ConditionalRequestConflict",
        429 | 503 => "SlowDown",
        _ => "InternalError",
    };
    let body = format!("<Error><Code>{code}</Code><Message>scripted</Message></Error>");
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Scripted\r\nConnection: close\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
