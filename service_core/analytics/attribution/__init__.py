"""Attribution: which touches a conversion is credited to."""
