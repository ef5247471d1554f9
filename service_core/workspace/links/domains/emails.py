"""E-mails about a link domain whose DNS record is missing."""

from service_core.access.models import Workspace
from service_core.workspace.links.domains.models import MISSING_RECORD_GRACE, LinkDomainClaim


def missing_record_email(workspace: Workspace, claim: LinkDomainClaim) -> tuple[str, str]:
    """Returns subject and text of the e-mail about a missing DNS record.

    Args:
        workspace: the workspace of the domain.
        claim: the domain after its record was not found.
    """
    host, owner = claim.name, " ".join(workspace.name.split())
    if claim.missing_since is None:
        subject = f"{host} is no link domain of {owner} any more"
        text = (
            f"The DNS record of {host} has been gone for {MISSING_RECORD_GRACE.days} days and no link stands on it, so it is pending "
            "again. To use it, publish the record and verify it."
        )
    elif claim.lapsed_at is not None:
        subject = f"{host} takes no new links"
        text = (
            f"The DNS record of {host} has been gone for {MISSING_RECORD_GRACE.days} days. The links of {owner} that stand on it go on "
            "redirecting; no new ones are taken until the record is back."
        )
    else:
        subject = f"The DNS record of {host} is gone"
        text = (
            f"The DNS does not say any more that {host} belongs to {owner}. Its links go on redirecting. Publish the "
            f"record again by {claim.missing_since + MISSING_RECORD_GRACE:%Y-%m-%d}: from then on no new ones are taken."
        )
    return subject, f"{text}\n\nThe record that shows whose it is:\n\n{claim.zone_file_line}\n"
