//! What a request costs: before it is sent, by estimate, and after, by the provider's count.

use std::io;

use serde::Serialize;
use shipmate_protocol::native::Price;
use shipmate_protocol::verbs::Usage;

use super::{Request, Tokens};
use crate::message::{Arguments, Block, Message};

/// In millionths of the currency, rounded up. A cache whose price is not known costs what plain
/// input costs: a budget is rather reached too early than passed.
pub fn cost_micros(price: &Price, tokens: &Tokens) -> u64 {
    let known = |price: u64, otherwise: u64| if price > 0 { price } else { otherwise };
    let parts = [
        (tokens.input, price.input),
        (tokens.output, price.output),
        (tokens.cache_read, known(price.cache_read, price.input)),
        (tokens.cache_write, known(price.cache_write, price.input)),
    ];
    let total: u128 = parts.iter().map(|&(count, each)| u128::from(count) * u128::from(each)).sum();
    u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// A quarter of the bytes that are sent, near enough for every tokeniser on code and English.
pub fn estimate_tokens(request: &Request<'_>) -> u64 {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + json_bytes(&tool.input_schema));
    let messages = request.messages.iter().map(message_bytes);
    let bytes = request.system.len() + tools.sum::<usize>() + messages.sum::<usize>();
    bytes.div_ceil(4) as u64
}

pub(super) fn estimate_blocks(blocks: &[Block]) -> u64 {
    blocks.iter().map(block_bytes).sum::<usize>().div_ceil(4) as u64
}

/// What a request may cost at most, as far as its input can be estimated.
pub(super) fn ceiling(price: &Price, request: &Request<'_>) -> Usage {
    // Some tokenisers make more of a text than the usual quarter of its bytes.
    let tokens_in = estimate_tokens(request).saturating_mul(4).div_ceil(3);
    let tokens_out = request.output_tokens_max;
    // All of it may be written to a cache, which is dearer than plain input.
    let dearest = Price { input: price.input.max(price.cache_write), ..*price };
    let tokens = Tokens { input: tokens_in, output: tokens_out, ..Tokens::default() };
    let cost_micros = cost_micros(&dearest, &tokens);
    Usage { tokens_in, tokens_out, cost_micros, ..Usage::default() }
}

/// The JSON around a message counts too.
fn message_bytes(message: &Message) -> usize {
    16 + message.blocks.iter().map(block_bytes).sum::<usize>()
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Sealed(text) => text.len(),
        Block::Thinking { text, signature } => text.len() + signature.len(),
        Block::Call(call) => {
            let arguments = match &call.arguments {
                Arguments::Json(value) => json_bytes(value),
                Arguments::Broken { text, .. } => text.len(),
            };
            call.id.len() + call.tool.len() + arguments
        }
        Block::Result(result) => result.id.len() + result.text.len(),
    }
}

fn json_bytes(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("JSON can be written as JSON");
    count.0
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shipmate_protocol::native::Offered;

    use super::*;

    const PRICE: Price =
        Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };

    #[test]
    fn every_kind_of_token_has_its_price() {
        let cost = |input, output, cache_read, cache_write| {
            cost_micros(&PRICE, &Tokens { input, output, cache_read, cache_write })
        };
        assert_eq!(cost(1_000_000, 0, 0, 0), 3_000_000);
        assert_eq!(cost(0, 1_000, 0, 0), 15_000);
        assert_eq!(cost(25, 100, 1_000, 8), 75 + 1_500 + 300 + 30);
        assert_eq!(cost(0, 0, 1, 0), 1, "a part of a millionth is one");
        assert_eq!(cost(u64::MAX, u64::MAX, 0, 0), u64::MAX);
    }

    #[test]
    fn a_cache_of_unknown_price_costs_what_input_costs() {
        let price = Price { input: 2_000_000, output: 0, cache_read: 0, cache_write: 0 };
        let tokens = Tokens { input: 1, output: 7, cache_read: 10, cache_write: 100 };
        assert_eq!(cost_micros(&price, &tokens), 222);
    }

    #[test]
    fn a_request_is_estimated_by_all_that_is_sent() {
        let tools = [Offered {
            name: "t".repeat(10),
            description: "d".repeat(90),
            input_schema: json!({"type": "object"}),
        }];
        let messages = [Message::user("m".repeat(184))];
        let system = "s".repeat(300);
        let request = Request {
            tools: &tools,
            system: &system,
            messages: &messages,
            output_tokens_max: 1_000,
            thinking_tokens: 0,
        };
        assert_eq!(estimate_tokens(&request), (100 + 17 + 300 + 200_u64).div_ceil(4));
        let ceiling = ceiling(&PRICE, &request);
        assert_eq!((ceiling.tokens_in, ceiling.tokens_out, ceiling.tokens_cached), (207, 1_000, 0));
        assert_eq!(ceiling.cost_micros, 207 * 15 / 4 + 1 + 15_000);
    }
}
