//! Teams above and below each other: whose lead is told, and whose phase the work belongs to.
//!
//! A lead may make further teams below its own. They have no playbook and, as a rule, no lead of
//! their own: what they do is done for the nearest team above that has one.

use shipmate_model::name::{Address, Name};

use crate::state::{Counts, Course, State, Team, TeamPhase};

impl State {
    /// A team and those above it, the nearest first.
    pub fn lineage<'a>(&'a self, team: &Name) -> impl Iterator<Item = &'a Team> {
        self.named_lineage(team).map(|(_, team)| team)
    }

    fn named_lineage<'a>(&'a self, team: &Name) -> impl Iterator<Item = (&'a Name, &'a Team)> {
        let above =
            |(_, team): &(&'a Name, &'a Team)| self.teams.get_key_value(team.parent.as_ref()?);
        std::iter::successors(self.teams.get_key_value(team), above)
    }

    /// Who leads a team: its own lead, or that of the nearest team above it.
    pub fn lead_of(&self, team: &Name) -> Option<Address> {
        self.named_lineage(team).find_map(|(name, found)| {
            Some(Address { team: name.clone(), name: found.lead.clone()? })
        })
    }

    /// The nearest team above this one that is so.
    pub(crate) fn nearest_above(
        &self,
        team: &Name,
        is_so: impl Fn(&Name, &Team) -> bool,
    ) -> Option<Name> {
        let mut above = self.named_lineage(team).skip(1);
        above.find(|(name, team)| is_so(name, team)).map(|(name, _)| name.clone())
    }

    /// The team in whose phases this one works: the nearest with a playbook, else itself.
    pub(crate) fn course_team(&self, team: &Name) -> Name {
        let above = self.named_lineage(team).find(|(_, found)| found.setup.playbook.is_some());
        above.map_or(team, |(name, _)| name).clone()
    }

    /// The course in whose phases this team works: its own, or that of the team it works for.
    pub(crate) fn course_above(&self, team: &Name) -> Option<&Course> {
        let above = self.course_team(team);
        let of = if self.works_for(team, &above) { &above } else { team };
        self.teams.get(of)?.course.as_ref()
    }

    /// What this team does is work of a phase of that one, and comes to the same branch. Of a team
    /// that is gone, what was done or handed in stays such work; what was open went with it.
    pub(crate) fn works_for(&self, team: &Name, course: &Name) -> bool {
        team == course || (self.course_team(team) == *course && self.shares_branch(team, course))
    }

    fn shares_branch(&self, team: &Name, course: &Name) -> bool {
        let setup = |team: &Name| self.teams.get(team).map(|found| &found.setup);
        let branch = |of: &Name| setup(of).filter(|setup| setup.trees.is_some());
        match (branch(team), branch(course)) {
            (Some(own), Some(above)) => own.branch(team) == above.branch(course),
            _ => true,
        }
    }

    /// Teams below this one whose work is that of its phases, and which are not at their end.
    pub(crate) fn further_teams<'a>(
        &'a self,
        course: &'a Name,
    ) -> impl Iterator<Item = (&'a Name, &'a Team)> {
        let active = |team: &Team| team.phase == TeamPhase::Active;
        let further = self.workers_of(course).filter(move |team| *team != course);
        further.map(|name| (name, &self.teams[name])).filter(move |(_, team)| active(team))
    }

    /// The teams whose work is that of this one's phases.
    pub(crate) fn workers_of<'a>(&'a self, course: &'a Name) -> impl Iterator<Item = &'a Name> {
        self.teams.keys().filter(|team| self.works_for(team, course))
    }

    /// How much of that work is in which status.
    pub(crate) fn counts_for(&self, course: &Name) -> Counts {
        let mut all = Counts::default();
        for team in self.workers_of(course) {
            let Counts { pending, in_progress, completed, failed, deleted } =
                self.teams[team].counts;
            all.pending += pending;
            all.in_progress += in_progress;
            all.completed += completed;
            all.failed += failed;
            all.deleted += deleted;
        }
        all
    }
}
