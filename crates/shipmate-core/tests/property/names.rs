//! Names against the rule as it is written: `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`.

use proptest::prelude::*;
use shipmate_model::{Actor, Address, Alias, Name, TeammateRef};

use crate::config;

fn is_name(text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    let first = letters.first().is_some_and(char::is_ascii_alphanumeric);
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    let reserved = ["person", "runtime", "all", "lead-of"].contains(&text);
    first && letters.len() <= 64 && letters.iter().all(plain) && !reserved
}

proptest! {
    #![proptest_config(config(20_000))]

    #[test]
    fn exactly_the_texts_of_the_rule_are_names(
        text in prop_oneof![
            "[A-Za-z0-9_-]{0,70}",
            "\\PC{0,12}",
            "(\\.|/|%2e|\\\\|a|\\x00|\\n|é|ⅹ|ａ){0,6}",
            "(person|runtime|all|lead-of|lead)[a-z]{0,1}",
        ],
    ) {
        prop_assert_eq!(text.parse::<Name>().is_ok(), is_name(&text));
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<Name>(&json).is_ok(), is_name(&text));
        if let Ok(alias) = text.parse::<Alias>() {
            prop_assert!(alias.as_str().parse::<u64>().is_err() && !text.contains(".."));
        }
    }

    #[test]
    fn what_a_reference_prints_reads_back(
        team in "[A-Za-z0-9][A-Za-z0-9_-]{0,8}", name in "[a-z0-9]{1,8}", epoch in any::<u32>(),
    ) {
        if let (Ok(team), Ok(name)) = (team.parse::<Name>(), name.parse::<Name>()) {
            let who = TeammateRef { address: Address { team, name }, epoch };
            prop_assert_eq!(who.to_string().parse::<TeammateRef>().unwrap(), who.clone());
            let actor = Actor::Teammate(who);
            prop_assert_eq!(actor.to_string().parse::<Actor>().unwrap(), actor);
        }
    }

    #[test]
    fn a_reference_made_of_anything_never_panics(text in "[a-z/@0-9.-]{0,16}") {
        let _ = text.parse::<TeammateRef>();
        let _ = text.parse::<Address>();
        let _ = text.parse::<Actor>();
    }
}
