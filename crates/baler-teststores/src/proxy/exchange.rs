//! One request and its answer, with what goes wrong between them.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::message::{Message, answer, head_length};
use super::script::{Fault, Script};

pub(super) struct Proxied {
    pub(super) upstream: SocketAddr,
    pub(super) script: Arc<Script>,
}

impl Proxied {
    pub(super) async fn serve(&self, mut client: TcpStream) -> Result<()> {
        let Some(request) = Message::read(&mut client).await? else {
            return Ok(());
        };
        let fault = self.script.meet(&request.method, &request.target);
        if let Some(response) = self.respond(&request, fault).await? {
            client.write_all(&response).await?;
            client.shutdown().await?;
        }
        Ok(())
    }

    /// What the client gets to see; `None` for a connection that just closes.
    async fn respond(&self, request: &Message, fault: Option<Fault>) -> Result<Option<Vec<u8>>> {
        let Some(fault) = fault else {
            return self.forward(request).await.map(Some);
        };
        Ok(match fault {
            Fault::DropRequest => None,
            Fault::LoseResponse => {
                self.forward(request).await?;
                None
            }
            Fault::DelayResponse(delay) => {
                let response = self.forward(request).await?;
                sleep(delay).await;
                Some(response)
            }
            Fault::CutResponse(bytes) => {
                let mut response = self.forward(request).await?;
                response.truncate(bytes);
                Some(response)
            }
            Fault::CutBody(bytes) => {
                let mut response = self.forward(request).await?;
                response.truncate(head_length(&response) + bytes);
                Some(response)
            }
            Fault::Answer(status) => Some(answer(status)),
            Fault::ForwardThenAnswer(status) => {
                self.forward(request).await?;
                Some(answer(status))
            }
            Fault::ApplyLate(status, delay) => {
                self.forward_later(request.clone(), delay);
                Some(answer(status))
            }
        })
    }

    async fn forward(&self, request: &Message) -> Result<Vec<u8>> {
        forward(self.upstream, request).await
    }

    fn forward_later(&self, request: Message, delay: std::time::Duration) {
        let (upstream, script) = (self.upstream, self.script.clone());
        script.late_one_waits();
        tokio::spawn(async move {
            sleep(delay).await;
            let _nobody_hears_the_answer = forward(upstream, &request).await;
            script.late_one_landed();
        });
    }
}

async fn forward(upstream: SocketAddr, request: &Message) -> Result<Vec<u8>> {
    let mut server = TcpStream::connect(upstream).await?;
    server.write_all(&request.to_bytes()).await?;
    let mut response = Vec::new();
    server.read_to_end(&mut response).await?;
    Ok(response)
}
