//! A branch of the user's that follows the team's.

use super::git::Failure;
use super::{Commit, Repository};

const WHY: &str = "shipmate: follows the team's branch";

impl Repository {
    /// Makes a branch of the user's at a commit, or moves it forward to there. Repeating it changes
    /// nothing. The answer is why it is left as it is: it is the user's.
    pub fn follow(&self, branch: &str, to: &Commit) -> Result<Option<String>, Failure> {
        let name = format!("refs/heads/{branch}");
        let there = self.resolve(&name)?;
        if there.as_ref() == Some(to) {
            return Ok(None);
        }
        if let Some(at) = self.checkout_of(&name)? {
            return Ok(Some(format!("it is checked out in {}", at.display())));
        }
        match there {
            None => self.create_ref(&name, to, WHY)?,
            Some(old) if self.is_ancestor(&old, to)? => {
                self.move_ref(&name, old.as_str(), to.as_str(), WHY)?;
            }
            Some(_) => return Ok(Some("it holds work that the team's branch does not".to_owned())),
        }
        Ok(None)
    }
}
