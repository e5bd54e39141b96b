//! Keeps pages of others out: a browser on this machine sends what they ask for to any address, also to this server's.

use axum::{
    extract::Request,
    http::{
        Method, StatusCode,
        header::{CONTENT_TYPE, HOST},
        uri::Authority,
    },
};
use std::net::IpAddr;

/// What this server is called by those who mean it.
#[derive(Debug)]
pub(crate) struct Hosts {
    at: IpAddr,
    others: Vec<String>,
}

impl Hosts {
    /// Of a server that listens there, which has `others` for names.
    pub(crate) fn new(at: IpAddr, others: Vec<String>) -> Self {
        Self { at, others }
    }

    /// Whether a `Host` means it. Ports are not looked at: they may be forwarded.
    fn has(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host();
        let is = |other: &str| other.eq_ignore_ascii_case(name);
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        // A page whose name somebody lets stand for this address is sent with that name; addresses stand for themselves.
        let is_address = address.is_ok_and(|ip| ip == self.at || ip.is_loopback() || self.at.is_unspecified());
        is_address || is("localhost") || self.others.iter().any(|other| is(other))
    }

    /// Whether no page of others can have sent a request; why it is refused, if one can.
    pub(crate) fn check(&self, request: &Request) -> Result<(), (StatusCode, String)> {
        let header = |name| request.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        // Browsers always say whom they mean.
        if let Some(host) = header(HOST).filter(|host| !self.has(host)) {
            let problem = format!(
                "this server is not `{host}`; it is {}, localhost, and what --allow-host names",
                match self.at.is_unspecified() {
                    true => "any address".to_owned(),
                    false => self.at.to_string(),
                }
            );
            return Err((StatusCode::MISDIRECTED_REQUEST, problem));
        }
        let kind = header(CONTENT_TYPE).unwrap_or_default();
        let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
        match request.method() == Method::POST && !is_json {
            // Of other kinds a page may send what it likes without asking first.
            true => {
                let found = if kind.is_empty() { "none" } else { &*kind };
                let problem = format!("content-type must be application/json, got {found}");
                Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, problem))
            }
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_knows_its_names() {
        let hosts = |at: &str| Hosts::new(at.parse().unwrap(), vec!["batcher.example".to_owned()]);
        for (at, host, expected) in [
            ("127.0.0.1", "127.0.0.1:7411", true),
            ("127.0.0.1", "localhost:8000", true),
            ("127.0.0.1", "LOCALHOST", true),
            ("127.0.0.1", "[::1]:7411", true),
            ("127.0.0.1", "batcher.example:7411", true),
            ("127.0.0.1", "evil.example:7411", false),
            ("127.0.0.1", "localhost.evil.example", false),
            ("127.0.0.1", "192.0.2.1:7411", false),
            ("127.0.0.1", "0.0.0.0:7411", false),
            ("127.0.0.1", "", false),
            ("127.0.0.1", "a b", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("0.0.0.0", "192.0.2.1:7411", true),
            ("0.0.0.0", "evil.example", false),
        ] {
            assert_eq!(hosts(at).has(host), expected, "{host} at {at}");
        }
    }
}
