//! Recording trust keeps everything else in the user's file.

use std::os::unix::fs::PermissionsExt;

use windlass_config::{Trust, TrustError, TrustLevel, trust};

use crate::world::World;

#[test]
fn trust_is_added_and_the_rest_stays_byte_for_byte() {
    let before = "# mine\nmodel   =  'x' # the one\n\n[tools] # these\nupdate_plan=true\n";
    let world = World::with_user("kept", before);
    let file = trust(&world.places, &world.project(), TrustLevel::Trusted).unwrap();
    let path = world.project().display().to_string();
    assert_eq!(world.read(&file), format!("{before}\n[projects.{path:?}]\ntrust_level = \"trusted\"\n"));
    assert_eq!(world.load().project.trust, Trust::Trusted);
}

#[test]
fn a_word_is_changed_in_place() {
    let world = World::new("changed");
    let path = world.project().display().to_string();
    let text = |word: &str| {
        format!(
            "[projects]\n{path:?} = {{ trust_level = {word:?} }} # asked\nother.trust_level = 'trusted'\n"
        )
    };
    world.user(&text("trusted"));
    let file = trust(&world.places, &world.project(), TrustLevel::Untrusted).unwrap();
    assert_eq!(world.read(&file), text("untrusted"));
    assert_eq!(world.load().project.trust, Trust::Untrusted);
    world.user(&format!("[projects.{path:?}]\ntrust_level = 'trusted' # since May\n"));
    trust(&world.places, &world.project(), TrustLevel::Untrusted).unwrap();
    assert_eq!(world.read(&file), format!("[projects.{path:?}]\ntrust_level = \"untrusted\" # since May\n"));
}

#[test]
fn a_file_is_made_where_there_is_none_and_permissions_and_links_stay() {
    let world = World::new("made");
    let file = trust(&world.places, &world.project(), TrustLevel::Trusted).unwrap();
    assert_eq!(Some(&file), world.places.user_file().as_ref());
    let dotfiles = world.write("dotfiles/config.toml", "model = 'x'\n");
    std::fs::set_permissions(&dotfiles, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&dotfiles, &file).unwrap();
    assert_eq!(trust(&world.places, &world.project(), TrustLevel::Trusted).unwrap(), dotfiles);
    assert!(file.symlink_metadata().unwrap().is_symlink());
    assert_eq!(dotfiles.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> = dotfiles.parent().unwrap().read_dir().unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "nothing is left beside the file");
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone() {
    for (text, expected) in [("= broken", "NotToml"), ("projects = 1\n", "NotATable")] {
        let world = World::with_user("broken", text);
        let error = trust(&world.places, &world.project(), TrustLevel::Trusted).unwrap_err();
        assert!(format!("{error:?}").starts_with(expected), "{error:?}");
        assert_eq!(world.read("home/.config/windlass/config.toml"), text);
    }
    let mut world = World::new("nowhere");
    world.places.config = None;
    assert!(matches!(trust(&world.places, &world.project(), TrustLevel::Trusted), Err(TrustError::NoPlace)));
}
