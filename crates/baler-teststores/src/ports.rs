//! Ports that are free on loopback. Below the range that the system gives out by itself, so that nobody's connection
//! takes one between the choice and the server's start.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

/// SeaweedFS puts the gRPC port of each service this far above its HTTP port.
pub(crate) const GRPC_OFFSET: u16 = 10_000;

/// Different ports, each free together with its gRPC port.
pub(crate) fn free<const N: usize>() -> Result<[u16; N]> {
    let mut found = Vec::new();
    for _ in 0..10_000 {
        let port = rand::random_range(11_000..22_000);
        if !found.contains(&port) && is_free(port) && is_free(port + GRPC_OFFSET) {
            found.push(port);
        }
        if let Ok(ports) = <[u16; N]>::try_from(found.as_slice()) {
            return Ok(ports);
        }
    }
    bail!("no free ports on 127.0.0.1 between 11000 and 22000")
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
