//! Bodies that a coordinator is sent: polls with words about attempts, signs of life, lists of files, events of S3. Words that are
//! understood are decided on a state with a job under way; whatever they say, every invariant holds afterwards.

use std::sync::LazyLock;

use baler::desk::protocol::{PollAsk, RenewAsk};
use baler::root::pretend;
use baler_core::invariants;
use baler_core::request::Request;
use baler_core::state::State;

use crate::words_about_a_job::{asked, beginning};

static UNDER_WAY: LazyLock<State> = LazyLock::new(|| beginning().0);

/// The body of a request.
pub fn api(data: &[u8]) {
    let _names_or_errors = baler::adding::from_lines(data).count();
    if let Ok(renewal) = serde_json::from_slice::<RenewAsk>(data) {
        same_again(&renewal);
    }
    let Ok(poll) = serde_json::from_slice::<PollAsk>(data) else {
        return;
    };
    same_again(&poll);
    let mut state = State::clone(&UNDER_WAY);
    for word in poll.updates {
        decide(&mut state, &word.into());
    }
    decide(
        &mut state,
        &asked(poll.worker, poll.slots, poll.memory, poll.offer.scope),
    );
}

fn decide(state: &mut State, request: &Request) {
    let _reply = pretend(state, request);
    let broken = invariants::broken(state);
    let broken: Vec<&str> = broken.iter().map(|invariant| invariant.says).collect();
    assert!(broken.is_empty(), "{request:?} broke {broken:?}");
}

/// What was understood says the same when it is written and read again.
fn same_again<T: serde::Serialize + serde::de::DeserializeOwned>(said: &T) {
    let text = serde_json::to_string(said);
    let again = text.and_then(|text| Ok((serde_json::from_str::<T>(&text)?, text)));
    match again.and_then(|(again, text)| Ok((serde_json::to_string(&again)?, text))) {
        Ok((again, text)) => assert_eq!(again, text, "a body is another when it is sent again"),
        Err(error) => panic!("a body that was understood is not any more: {error}"),
    }
}
