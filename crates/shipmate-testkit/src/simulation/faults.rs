//! How often each thing goes wrong in one run: nothing in some seeds, everything in others.

use crate::Random;

/// Chances in a thousand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rates {
    pub(crate) lost_answer: u32,
    pub(crate) send_again: u32,
    pub(crate) lag: u32,
    pub(crate) unconfirmed: u32,
    pub(crate) full: u32,
    pub(crate) broken: u32,
    pub(crate) crash: u32,
    pub(crate) damage: u32,
    pub(crate) stale: u32,
    pub(crate) late_timer: u32,
    pub(crate) wall_jump: u32,
    pub(crate) suspend: u32,
    pub(crate) disappear: u32,
}

impl Rates {
    pub(crate) fn draw(random: &mut Random) -> Rates {
        let calm = random.chance(120);
        let heavy = random.chance(200);
        let mut rate = |most: u32| {
            if calm || random.chance(300) {
                return 0;
            }
            let most = if heavy { most * 3 } else { most };
            1 + random.below(u64::from(most)) as u32
        };
        Rates {
            lost_answer: rate(150),
            send_again: rate(120),
            lag: rate(700),
            unconfirmed: rate(80),
            full: rate(40),
            broken: rate(20),
            crash: rate(25),
            damage: rate(200),
            stale: rate(250),
            late_timer: rate(300),
            wall_jump: rate(150),
            suspend: rate(80),
            disappear: rate(80),
        }
    }
}
