//! What goes back to the page: JSON, a refusal with its status, and the headers of everything.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use shipmate_protocol::{Code, Refused, refused};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// No script but our own files, nothing from elsewhere, nothing inside other pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const STRICT: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The headers that every response of the page's server carries, refusals too.
pub(super) fn make_strict(headers: &mut HeaderMap) {
    for (name, value) in STRICT {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What is not said otherwise is somebody's data.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Why there is no answer, for the page and for whoever writes one.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) refused: Refused,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: Code, message: &str, remedy: &str) -> Refusal {
        Refusal { status, refused: refused(code, message, remedy) }
    }

    pub(super) fn not_found(message: &str) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, Code::NotFound, message, "")
    }

    pub(super) fn bad(message: &str) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, Code::BadRequest, message, "")
    }
}

/// A coordinator's refusal: the rules of the team stand in the way, or it cannot be reached.
impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        let status = match refused.code {
            Code::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
            Code::Slow => StatusCode::GATEWAY_TIMEOUT,
            Code::UnexpectedAnswer => StatusCode::BAD_GATEWAY,
            code if code.is_unknown() || code == Code::UnknownPrice => StatusCode::NOT_FOUND,
            _ => StatusCode::CONFLICT,
        };
        Refusal { status, refused }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = json(&json!({ "refused": self.refused }));
        *response.status_mut() = self.status;
        response
    }
}

pub(super) fn json(value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).expect("what is shown is JSON");
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

pub(super) fn is_json(response: &Response) -> bool {
    response.headers().get(header::CONTENT_TYPE) == Some(&JSON)
}
