//! AGENTS.md: which files count, in which order, and how much of them.

use windlass_config::instructions::{Instructions, find};

use crate::world::World;

fn told(world: &World) -> Instructions {
    let loaded = world.load();
    find(&world.places, &loaded.project, &loaded.settings)
}

/// The text between the tags.
fn text(world: &World) -> String {
    let rendered = told(world).render(&world.places.cwd).unwrap_or_default();
    let head = format!("# AGENTS.md instructions for {}\n\n<INSTRUCTIONS>\n", world.places.cwd.display());
    let inside = rendered.strip_prefix(&head).and_then(|rest| rest.strip_suffix("\n</INSTRUCTIONS>"));
    inside.unwrap_or(&rendered).to_owned()
}

#[test]
fn the_users_come_first_then_the_projects_from_the_root_down() {
    let world = World::new("agents");
    world.trust();
    assert_eq!(told(&world).render(&world.places.cwd), None);
    world.write("project/AGENTS.md", "root\n");
    assert_eq!(text(&world), "root");
    world.write("home/.config/windlass/AGENTS.md", "\nhome\n\n");
    assert_eq!(text(&world), "home\n\n--- project-doc ---\n\nroot");
    world.write("project/inner/AGENTS.md", "inner");
    assert_eq!(text(&world), "home\n\n--- project-doc ---\n\nroot\n\ninner");
    world.write("project/AGENTS.override.md", "instead");
    assert_eq!(text(&world), "home\n\n--- project-doc ---\n\ninstead\n\ninner");
    world.write("home/.config/windlass/AGENTS.override.md", "own");
    assert_eq!(text(&world), "own\n\n--- project-doc ---\n\ninstead\n\ninner");
    world.write("AGENTS.md", "above the project");
    assert!(!text(&world).contains("above"));
}

#[test]
fn the_users_own_count_without_any_trust() {
    let world = World::new("home-only");
    world.write("home/.config/windlass/AGENTS.md", "home");
    world.write("project/AGENTS.md", "root");
    assert_eq!(text(&world), "home");
}

#[test]
fn empty_files_are_passed_over_and_other_names_count_where_they_are_listed() {
    let world = World::with_user("names", "project_doc_fallback_filenames = ['CLAUDE.md', 'GUIDE.md']\n");
    world.trust();
    world.write("project/AGENTS.override.md", " \n");
    world.write("project/AGENTS.md", "\n\n");
    world.write("project/GUIDE.md", "guide");
    assert_eq!(text(&world), "guide");
    world.write("project/CLAUDE.md", "claude");
    assert_eq!(text(&world), "claude");
    world.write("project/AGENTS.md", "agents");
    assert_eq!(text(&world), "agents");
}

#[test]
fn the_file_that_passes_the_limit_is_cut_between_letters_and_the_rest_is_not_read() {
    let world = World::with_user("limit", "project_doc_max_bytes = 10\n");
    world.trust();
    world.write("project/AGENTS.md", "12345678");
    world.write("project/inner/AGENTS.md", "aéb");
    let found = told(&world);
    assert_eq!((found.project[1].text.as_str(), found.project[1].cut), ("a", true));
    world.write("project/AGENTS.md", "1234567890");
    assert_eq!(told(&world).project.len(), 1);
    let off = World::with_user("off", "project_doc_max_bytes = 0\n");
    off.trust();
    off.write("project/AGENTS.md", "root");
    assert_eq!(text(&off), "");
}

#[test]
fn what_is_no_plain_file_is_named_and_holds_nothing_up() {
    let world = World::new("odd");
    world.trust();
    world.folder("project/AGENTS.override.md");
    world.write("project/AGENTS.md", b"bytes \xff\xfe".as_slice());
    let found = told(&world);
    assert_eq!(found.project[0].text, "bytes \u{fffd}\u{fffd}");
    assert_eq!(found.unreadable[0].0, world.project().join("AGENTS.override.md"));
}

#[test]
fn instructions_that_are_a_link_out_of_the_project_are_not_read() {
    let world = World::new("linked-instructions");
    let secret = world.write("home/secret", "the secret");
    world.write("project/docs/agents.md", "of the project");
    std::os::unix::fs::symlink("docs/agents.md", world.root().join("project/AGENTS.md")).unwrap();
    std::os::unix::fs::symlink(&secret, world.root().join("project/inner/AGENTS.md")).unwrap();
    world.trust();
    let loaded = world.load();
    let told = find(&world.places, &loaded.project, &loaded.settings);
    let text = told.render(&world.places.cwd).unwrap();
    assert!(text.contains("of the project") && !text.contains("the secret"), "{text}");
    assert_eq!(told.unreadable.len(), 1, "{:?}", told.unreadable);
}
