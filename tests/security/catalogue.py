"""Which test proves which number of the hostile-input catalogue, where its name does not carry the number.

A reference is a test's id; in brackets stands a parameter's name. What has no number here and in no test's name is listed
with what it waits for.
"""

from collections.abc import Mapping

__all__ = ["COVERED", "NOT_IN_SCOPE"]

COVERED: Mapping[int, tuple[str, ...]] = {
    1: (
        "tests/config/test_yaml_nodes.py::test_an_alias_bomb_is_findings_not_gigabytes",
        "tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[an alias]",
    ),
    2: ("tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[a tag]",),
    3: ("tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[a key twice]",),
    4: ("tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[a merge key]",),
    5: ("tests/config/test_files.py::test_a_file_over_the_cap_is_refused_before_a_parser_sees_it",),
    6: ("tests/config/test_yaml_nodes.py::test_nesting_beyond_the_cap_is_refused_before_anything_walks_it",),
    7: (
        "tests/config/test_files.py::test_what_is_not_clean_utf8_is_refused_at_its_place",
        "tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[two documents]",
        "tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[a tab]",
        "tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[an endless timeout]",
        "tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[a negative timeout]",
        "tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[a timeout of zero]",
    ),
    8: ("tests/upstream/test_references.py::test_a_file_elsewhere_is_refused_also_through_a_symlink",),
    10: ("tests/core/test_words.py::test_a_policy_for_no_tool_is_told_only_where_the_tools_are_known",),
    11: (
        "tests/config/test_credentials.py::test_a_credential_in_the_file_is_an_error",
        "tests/cli/test_secrets.py::test_an_inline_secret_is_refused_and_never_repeated",
        "tests/cli/test_secrets.py::test_an_unset_reference_names_server_field_and_variable_and_starts_nothing",
    ),
    12: ("tests/render/test_escape.py::test_output_is_one_line_of_printable_characters_without_a_command",),
    15: ("tests/upstream/test_url_policy.py::test_one_private_answer_among_public_ones_refuses_the_name",),
    16: (
        "tests/upstream/test_http_listing.py"
        "::test_a_redirect_to_another_origin_is_not_followed_and_its_target_never_sees_the_headers",
    ),
    19: ("tests/core/test_identity.py::test_a_url_has_one_spelling",),
    22: ("tests/upstream/test_listing.py::test_the_same_tools_under_new_cursors_are_a_loop_whatever_limit_they_meet",),
    23: ("tests/upstream/test_stdio_listing.py::test_a_fault_on_the_second_page_leaves_no_partial_list",),
    24: ("tests/core/test_words.py::test_zero_tools_where_there_were_some_is_an_outage_until_allowed",),
    25: ("tests/upstream/test_judge.py::test_of_a_name_that_occurs_twice_every_copy_is_quarantined",),
    28: ("tests/core/test_aliases.py::test_a_reserved_name_is_suffixed_whatever_its_case",),
    31: ("tests/cli/test_walkthrough.py::test_what_a_server_changes_is_held_by_path_until_its_digest_is_accepted",),
    32: ("tests/cli/test_saved_plans.py::test_a_tool_that_changed_since_makes_it_stale_and_nothing_runs",),
    33: ("tests/core/test_acceptance.py::test_a_claim_that_contradicts_the_policy_is_told_and_changes_nothing",),
    82: (
        "tests/store/test_opening.py::test_what_is_not_a_database_is_refused_and_never_replaced",
        "tests/store/test_opening.py::test_a_damaged_page_is_reported_and_not_read_around",
        "tests/store/test_opening.py::test_a_database_that_every_user_may_write_is_refused",
        "tests/store/test_opening.py::test_a_read_only_folder_can_be_read_and_not_written",
        "tests/store/test_migrations.py::test_a_newer_or_unknown_revision_is_refused_by_reader_and_upgrade",
        "tests/store/test_migrations.py::test_an_older_schema_is_refused_until_it_is_upgraded",
    ),
    83: (
        "tests/store/test_audit_trail.py::test_the_database_itself_refuses_to_change_replace_or_drop_an_event",
        "tests/store/test_audit_guards.py::test_a_guard_that_is_gone_or_does_nothing_any_more_is_named",
        "tests/store/test_audit_guards.py::test_a_trail_that_was_emptied_is_not_sound",
        "tests/store/test_audit_trail.py::test_what_was_done_to_the_trail_is_named",
        "tests/store/test_audit_trail.py::test_two_events_exchanged_in_place_are_found",
        "tests/store/test_audit_trail.py::test_a_cut_tail_shows_in_the_checkpoint_of_another_chain",
        "tests/cli/test_audit.py::test_a_removed_event_and_a_cut_tail_are_named",
    ),
    84: ("tests/store/test_model.py::test_after_any_applies_the_database_equals_the_model",),
    85: (
        "tests/cli/test_secrets.py::test_a_server_that_echoes_its_secret_puts_it_nowhere",
        "tests/store/test_faults.py::test_no_error_shows_sql_or_a_parameter",
    ),
    86: (
        "tests/store/test_codec.py::test_whatever_a_server_says_of_itself_comes_back_and_fits_both_engines",
        "tests/store/test_codec.py::test_a_name_that_the_engines_would_keep_differently_is_refused",
        "tests/store/test_faults.py::test_a_text_that_no_engine_keeps_is_refused_without_being_shown",
    ),
}
"""Tests of the packages by number."""

NOT_IN_SCOPE: Mapping[int, str] = {
    **dict.fromkeys(range(63, 73), "the HTTP API does not exist yet"),
    **dict.fromkeys(range(73, 82), "the gateway does not exist yet"),
}
"""Numbers about something that does not exist yet. What 50 and 52 say of requests that come in waits for the gateway too."""
