//! Skills: where they are found, which of two counts, and the text for the model.

use windlass_config::skills::{SkillScope, Skills, find};

use crate::world::World;

fn skill(world: &World, folder: &str, name: &str, description: &str) {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n# How\n\nDo {description}.\n");
    world.write(&format!("{folder}/SKILL.md"), text);
}

fn found(world: &World) -> Skills {
    find(&world.places, &world.load().project)
}

fn names(skills: &Skills) -> Vec<&str> {
    skills.skills.iter().map(|skill| skill.name.as_str()).collect()
}

#[test]
fn skills_come_from_the_user_and_from_a_trusted_project() {
    let world = World::new("skills");
    skill(&world, "home/.config/windlass/skills/own", "own", "x");
    skill(&world, "home/.agents/skills/deep/er/shared", "shared", "x");
    skill(&world, "home/.agents/skills/.hidden/no", "no", "x");
    skill(&world, "project/.agents/skills/root", "root", "x");
    skill(&world, "project/inner/.agents/skills/inner", "inner", "x");
    assert_eq!(names(&found(&world)), ["own", "shared"]);
    world.trust();
    let skills = found(&world);
    assert_eq!(names(&skills), ["inner", "own", "root", "shared"]);
    assert_eq!(skills.get("root").unwrap().scope, SkillScope::Project);
    assert_eq!(skills.get("own").unwrap().scope, SkillScope::User);
}

#[test]
fn of_two_with_one_name_the_nearer_counts() {
    let world = World::new("duplicates");
    world.trust();
    skill(&world, "home/.agents/skills/a", "a", "shared");
    skill(&world, "home/.config/windlass/skills/a", "a", "own");
    skill(&world, "project/.agents/skills/a", "a", "root");
    skill(&world, "project/inner/.agents/skills/a", "a", "inner");
    let skills = found(&world);
    assert_eq!(skills.get("a").unwrap().description, "inner");
    let hidden: Vec<&str> = skills.hidden.iter().map(|skill| skill.description.as_str()).collect();
    assert_eq!(hidden, ["root", "own", "shared"]);
}

#[test]
fn a_broken_skill_is_named_and_the_others_count() {
    let world = World::new("broken-skill");
    skill(&world, "home/.agents/skills/good", "good", "x");
    world.write("home/.agents/skills/bad/SKILL.md", "---\nname: bad name\ndescription: x\n---\n");
    world.write("home/.agents/skills/bytes/SKILL.md", [0xff, 0xfe]);
    world.folder("home/.agents/skills/empty");
    let skills = found(&world);
    assert_eq!(names(&skills), ["good"]);
    let faults: Vec<String> = skills.faults.iter().map(ToString::to_string).collect();
    assert!(faults[0].contains("bad/SKILL.md:2: `name` has letters"), "{faults:?}");
    assert!(faults[1].contains("bytes/SKILL.md:1: the file does not begin"), "{faults:?}");
}

#[test]
fn the_block_lists_names_descriptions_and_paths_within_bounds() {
    let world = World::new("block");
    assert_eq!(found(&world).render(), None);
    skill(&world, "home/.agents/skills/a", "a", "one thing");
    let text = found(&world).render().unwrap();
    let path = world.root().join("home/.agents/skills/a/SKILL.md");
    let line = format!("\n- a: one thing (file: {})\n</skills>", path.display());
    assert!(text.starts_with("<skills>\n") && text.ends_with(&line), "{text}");
    for number in 0..120 {
        skill(&world, &format!("home/.agents/skills/n{number}"), &format!("n{number}"), &"word ".repeat(200));
    }
    let text = found(&world).render().unwrap();
    assert!(text.len() < 17 << 10, "{}", text.len());
    assert!(text.contains(" more, for which there is no room here"), "{text}");
}

#[test]
fn a_name_in_the_prompt_brings_the_whole_text() {
    let world = World::new("mention");
    skill(&world, "home/.agents/skills/a", "deploy", "ships");
    skill(&world, "home/.agents/skills/b", "lint", "checks");
    let skills = found(&world);
    let check = |prompt: &str, expected: &[&str]| {
        let found: Vec<&str> = skills.mentioned(prompt).iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(found, expected, "{prompt}");
    };
    check("use $deploy, then $lint.", &["deploy", "lint"]);
    check("$lint $lint $LINT $HOME $deployment", &["lint"]);
    check("deploy and US$lint", &[]);
    let text = skills.get("deploy").unwrap().inject().unwrap();
    let path = skills.get("deploy").unwrap().path.display().to_string();
    assert_eq!(
        text,
        format!("<skill>\n<name>deploy</name>\n<path>{path}</path>\n# How\n\nDo ships.\n</skill>")
    );
    std::fs::remove_file(&skills.get("lint").unwrap().path).unwrap();
    assert!(skills.get("lint").unwrap().inject().unwrap_err().to_string().ends_with("the file is gone"));
}

#[test]
fn links_in_a_circle_end() {
    let world = World::new("circle");
    let folder = world.folder("home/.agents/skills/a");
    std::os::unix::fs::symlink(world.root().join("home/.agents/skills"), folder.join("again")).unwrap();
    skill(&world, "home/.agents/skills/b", "b", "x");
    let skills = found(&world);
    assert_eq!(names(&skills), ["b"]);
}

/// Otherwise a repository could have any file of the user's sent to the model.
#[test]
fn a_skill_of_a_project_that_is_a_link_out_of_it_does_not_count() {
    let world = World::new("outside");
    world.trust();
    skill(&world, "elsewhere/folder", "folder", "x");
    skill(&world, "project/.agents/skills/own", "own", "x");
    let skills = world.folder("project/.agents/skills");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(world.root().join(target), skills.join(name)).unwrap();
    };
    link("elsewhere/folder", "folder");
    world.folder("project/.agents/skills/file");
    link("elsewhere/folder/SKILL.md", "file/SKILL.md");
    // A link that stays in the project counts, and one that is changed later to leave it is not read.
    world.folder("project/.agents/skills/late");
    skill(&world, "project/docs/late", "late", "x");
    link("project/docs/late/SKILL.md", "late/SKILL.md");
    let found = found(&world);
    assert_eq!(names(&found), ["late", "own"]);
    assert_eq!(found.faults.len(), 2, "{:?}", found.faults);
    assert!(found.faults.iter().all(|fault| fault.message.contains("link out of the project")));
    std::fs::remove_file(skills.join("late/SKILL.md")).unwrap();
    link("elsewhere/folder/SKILL.md", "late/SKILL.md");
    let error = found.get("late").unwrap().inject().unwrap_err().to_string();
    assert!(error.contains("link out of the project"), "{error}");
}
