"""Resources of a workspace: trackable links, script proposals, rules, reports, dashboards, analyses, segments, annotations, share links."""
