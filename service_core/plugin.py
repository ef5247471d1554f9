"""The single import for plugin authors. The names in this module are stable; everything else may change.

A plugin is a module that implements hooks and is registered as an entry point of the group ``touchpoint``, for
example ``geo_example = "geo_example"``.

Lifecycle of a plugin: its entry point is imported (keep that cheap), its hooks are called once, the registry is
frozen, a URL in the settings selects an adapter, ``open`` builds it, ``start()`` is awaited, it works, and
``aclose()`` is awaited.
"""

from service_core.access.analytics_settings import MILLION as MILLION
from service_core.access.analytics_settings import AnalyticsSettings as AnalyticsSettings
from service_core.access.analytics_settings import CustomChannel as CustomChannel
from service_core.access.analytics_settings import FeeRate as FeeRate
from service_core.access.email_sender import EmailMessage as EmailMessage
from service_core.access.email_sender import EmailSender as EmailSender
from service_core.access.email_sender import EmailSenderUnavailable as EmailSenderUnavailable
from service_core.access.fixed_window import FixedWindowCounter as FixedWindowCounter
from service_core.access.ip_prefixes import truncate_to_ipv4_24_or_ipv6_48 as truncate_to_ipv4_24_or_ipv6_48
from service_core.access.key_management import (
    restrict_key_to_role_or_revoke as restrict_key_to_role_or_revoke,
)
from service_core.access.key_requests.models import REQUEST_LIFETIME as REQUEST_LIFETIME
from service_core.access.key_requests.models import REQUEST_RETENTION as REQUEST_RETENTION
from service_core.access.key_requests.models import KeyRequest as KeyRequest
from service_core.access.key_requests.models import RequestStatus as RequestStatus
from service_core.access.key_requests.ports import KeyRequests as KeyRequests
from service_core.access.members.models import Account as Account
from service_core.access.members.models import Invitation as Invitation
from service_core.access.members.models import Member as Member
from service_core.access.members.models import PasswordLink as PasswordLink
from service_core.access.members.models import Purpose as Purpose
from service_core.access.members.models import Session as Session
from service_core.access.members.ports import Accounts as Accounts
from service_core.access.members.ports import Invitations as Invitations
from service_core.access.members.ports import Members as Members
from service_core.access.members.ports import Passwords as Passwords
from service_core.access.members.ports import Sessions as Sessions
from service_core.access.models import AuthContext as AuthContext
from service_core.access.models import Caller as Caller
from service_core.access.models import Credential as Credential
from service_core.access.models import CredentialKind as CredentialKind
from service_core.access.models import OAuthGrant as OAuthGrant
from service_core.access.models import Workspace as Workspace
from service_core.access.oauth.models import AccessToken as AccessToken
from service_core.access.oauth.models import IssuedTokens as IssuedTokens
from service_core.access.oauth.models import OAuthClient as OAuthClient
from service_core.access.oauth.models import OneTimeToken as OneTimeToken
from service_core.access.oauth.models import OneTimeTokenKind as OneTimeTokenKind
from service_core.access.oauth.ports import OAuthClients as OAuthClients
from service_core.access.oauth.ports import OAuthGrants as OAuthGrants
from service_core.access.oauth.ports import OneTimeTokens as OneTimeTokens
from service_core.access.passkeys.models import CHALLENGE_LIFETIME as CHALLENGE_LIFETIME
from service_core.access.passkeys.models import AuthenticationResponse as AuthenticationResponse
from service_core.access.passkeys.models import Challenge as Challenge
from service_core.access.passkeys.models import Passkey as Passkey
from service_core.access.passkeys.models import RegistrationResponse as RegistrationResponse
from service_core.access.passkeys.models import RelyingParty as RelyingParty
from service_core.access.passkeys.models import VerifiedRegistration as VerifiedRegistration
from service_core.access.passkeys.ports import InvalidPasskeyResponse as InvalidPasskeyResponse
from service_core.access.passkeys.ports import PasskeyChallenges as PasskeyChallenges
from service_core.access.passkeys.ports import Passkeys as Passkeys
from service_core.access.passkeys.ports import WebAuthn as WebAuthn
from service_core.access.ports import CredentialStore as CredentialStore
from service_core.access.ports import RateLimiter as RateLimiter
from service_core.access.ports import RateLimiterUnavailable as RateLimiterUnavailable
from service_core.access.ports import RateLimitResult as RateLimitResult
from service_core.access.ports import RowPage as RowPage
from service_core.access.ports import TransferableStore as TransferableStore
from service_core.access.ports import WorkspaceSettings as WorkspaceSettings
from service_core.access.roles import GRANTABLE_KEY_SCOPES as GRANTABLE_KEY_SCOPES
from service_core.access.roles import Role as Role
from service_core.access.signup.models import UNPAID_SIGNUP_RETENTION as UNPAID_SIGNUP_RETENTION
from service_core.access.signup.models import CheckoutRequest as CheckoutRequest
from service_core.access.signup.models import CheckoutSession as CheckoutSession
from service_core.access.signup.models import CheckoutUnavailable as CheckoutUnavailable
from service_core.access.signup.models import CheckoutWebhook as CheckoutWebhook
from service_core.access.signup.models import InvalidWebhookSignature as InvalidWebhookSignature
from service_core.access.signup.models import Signup as Signup
from service_core.access.signup.models import SignupPayment as SignupPayment
from service_core.access.signup.models import SignupPaymentState as SignupPaymentState
from service_core.access.signup.models import SignupStatus as SignupStatus
from service_core.access.signup.ports import Checkout as Checkout
from service_core.access.signup.ports import SignupDigests as SignupDigests
from service_core.access.signup.ports import SignupLookup as SignupLookup
from service_core.access.signup.ports import Signups as Signups
from service_core.access.signup.ports import WorkspaceProvisioning as WorkspaceProvisioning
from service_core.access.write_policy import WritePolicy as WritePolicy
from service_core.analytics.attribution.credit_shares import PathTouch as PathTouch
from service_core.analytics.attribution.credit_shares import (
    compute_credit_share_per_touch as compute_credit_share_per_touch,
)
from service_core.analytics.attribution.ports import AttributionModel as AttributionModel
from service_core.analytics.attribution.ports import DataDrivenModel as DataDrivenModel
from service_core.analytics.attribution.ports import FitWeights as FitWeights
from service_core.analytics.attribution.ports import RuleBasedModel as RuleBasedModel
from service_core.analytics.attribution.ports import SplitPathAmounts as SplitPathAmounts
from service_core.analytics.attribution.ports import TouchKey as TouchKey
from service_core.analytics.attribution_reads.ports import Journey as Journey
from service_core.analytics.attribution_reads.ports import JourneyCredit as JourneyCredit
from service_core.analytics.attribution_reads.ports import JourneyReader as JourneyReader
from service_core.analytics.attribution_reads.ports import JourneysQuery as JourneysQuery
from service_core.analytics.attribution_reads.ports import JourneysResult as JourneysResult
from service_core.analytics.attribution_reads.ports import JourneyTouch as JourneyTouch
from service_core.analytics.cohorts.ports import AcquisitionValuesQuery as AcquisitionValuesQuery
from service_core.analytics.cohorts.ports import CohortActivity as CohortActivity
from service_core.analytics.cohorts.ports import CohortReader as CohortReader
from service_core.analytics.cohorts.ports import CohortReaderQuery as CohortReaderQuery
from service_core.analytics.cohorts.ports import CohortResult as CohortResult
from service_core.analytics.connections.declaration import ConnectionDeclaration as ConnectionDeclaration
from service_core.analytics.connections.declaration import CredentialField as CredentialField
from service_core.analytics.connections.models import Asset as Asset
from service_core.analytics.connections.models import ConnectedAccount as ConnectedAccount
from service_core.analytics.connections.models import Connection as Connection
from service_core.analytics.connections.models import ConnectionStatus as ConnectionStatus
from service_core.analytics.connections.models import ProviderKind as ProviderKind
from service_core.analytics.connections.ports import Connections as Connections
from service_core.analytics.event_rules.conversions import canonical_event_name as canonical_event_name
from service_core.analytics.event_rules.conversions import (
    is_non_bot_conversion_by_name_or_revenue as is_non_bot_conversion_by_name_or_revenue,
)
from service_core.analytics.event_rules.custom_properties import RESERVED_KEYS as RESERVED_KEYS
from service_core.analytics.event_rules.custom_properties import RESERVED_PREFIXES as RESERVED_PREFIXES
from service_core.analytics.event_rules.custom_properties import is_custom_property as is_custom_property
from service_core.analytics.event_rules.custom_properties import json_type_name as json_type_name
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms as list_event_synonyms
from service_core.analytics.event_rules.order_deduplication import CHARGE as CHARGE
from service_core.analytics.event_rules.order_deduplication import CHARGE_COLUMNS as CHARGE_COLUMNS
from service_core.analytics.event_rules.order_deduplication import DEVICE_REPORTER as DEVICE_REPORTER
from service_core.analytics.event_rules.order_deduplication import ORDER_DEDUP_WINDOW as ORDER_DEDUP_WINDOW
from service_core.analytics.event_rules.order_deduplication import PROVIDER_REPORTER as PROVIDER_REPORTER
from service_core.analytics.event_rules.order_deduplication import REFUND as REFUND
from service_core.analytics.event_rules.order_deduplication import SERVER_REPORTER as SERVER_REPORTER
from service_core.analytics.event_rules.order_deduplication import TRACKED as TRACKED
from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES as TRACKED_SOURCES
from service_core.analytics.event_rules.order_deduplication import (
    charge_components_zero_if_tracked as charge_components_zero_if_tracked,
)
from service_core.analytics.event_rules.order_deduplication import (
    classify_as_charge_refund_or_no_payment as classify_as_charge_refund_or_no_payment,
)
from service_core.analytics.event_rules.order_deduplication import (
    deduplicate_order_reports_within_7_days as deduplicate_order_reports_within_7_days,
)
from service_core.analytics.event_rules.order_deduplication import event_time_key as event_time_key
from service_core.analytics.event_rules.order_deduplication import (
    ids_that_mark_repeats as ids_that_mark_repeats,
)
from service_core.analytics.event_rules.order_deduplication import (
    linked_order_ids as linked_order_ids,
)
from service_core.analytics.event_rules.order_deduplication import (
    order_and_payment_ids as order_and_payment_ids,
)
from service_core.analytics.event_rules.order_deduplication import (
    order_payment_and_message_ids as order_payment_and_message_ids,
)
from service_core.analytics.event_rules.order_deduplication import provider_of_payment as provider_of_payment
from service_core.analytics.event_rules.order_deduplication import (
    repeated_order_reports_within_7_days as repeated_order_reports_within_7_days,
)
from service_core.analytics.event_rules.payment_fees import reported_fee_or_by_rate as reported_fee_or_by_rate
from service_core.analytics.event_rules.payment_fees import (
    sum_fees_reported_within_7_days_by_charge as sum_fees_reported_within_7_days_by_charge,
)
from service_core.analytics.event_rules.payment_origin import (
    device_report_of_charge_or_itself as device_report_of_charge_or_itself,
)
from service_core.analytics.event_rules.refund_amounts import charge_of_refund as charge_of_refund
from service_core.analytics.event_rules.refund_amounts import (
    refund_amounts_without_tax_and_shipping as refund_amounts_without_tax_and_shipping,
)
from service_core.analytics.event_rules.revenue_events import EVENT_NAME_SEPARATORS as EVENT_NAME_SEPARATORS
from service_core.analytics.event_rules.revenue_events import ORDER_EVENTS as ORDER_EVENTS
from service_core.analytics.event_rules.revenue_events import PAID_EVENTS as PAID_EVENTS
from service_core.analytics.event_rules.revenue_events import UNPAID_EVENT_KEYS as UNPAID_EVENT_KEYS
from service_core.analytics.event_rules.revenue_events import is_order_event as is_order_event
from service_core.analytics.event_rules.revenue_events import is_revenue_event as is_revenue_event
from service_core.analytics.event_rules.visits import ENTRY_VIEW_WINDOW as ENTRY_VIEW_WINDOW
from service_core.analytics.event_rules.visits import IS_VISIT_EVENT as IS_VISIT_EVENT
from service_core.analytics.event_rules.visits import (
    entry_event_with_page_view_over_system_event as entry_event_with_page_view_over_system_event,
)
from service_core.analytics.event_rules.visits import is_visit_event as is_visit_event
from service_core.analytics.experiments.ports import ExperimentOutcome as ExperimentOutcome
from service_core.analytics.experiments.ports import ExperimentReader as ExperimentReader
from service_core.analytics.experiments.ports import ExperimentReaderQuery as ExperimentReaderQuery
from service_core.analytics.experiments.ports import MixedPerson as MixedPerson
from service_core.analytics.experiments.ports import VariantOutcome as VariantOutcome
from service_core.analytics.funnels.ports import FunnelOrder as FunnelOrder
from service_core.analytics.funnels.ports import FunnelReader as FunnelReader
from service_core.analytics.funnels.ports import FunnelReaderQuery as FunnelReaderQuery
from service_core.analytics.funnels.ports import FunnelResult as FunnelResult
from service_core.analytics.funnels.ports import FunnelStartValuesQuery as FunnelStartValuesQuery
from service_core.analytics.funnels.ports import FunnelStep as FunnelStep
from service_core.analytics.funnels.ports import FunnelStepUnit as FunnelStepUnit
from service_core.analytics.funnels.ports import FunnelStepUnitsQuery as FunnelStepUnitsQuery
from service_core.analytics.fx.ports import ExchangeRateStore as ExchangeRateStore
from service_core.analytics.fx.ports import RateCoverage as RateCoverage
from service_core.analytics.fx.ports import RateSource as RateSource
from service_core.analytics.fx.ports import RateSourceUnavailable as RateSourceUnavailable
from service_core.analytics.install_attribution.ports import MatchedVisits as MatchedVisits
from service_core.analytics.install_attribution.ports import RecentLinkClicks as RecentLinkClicks
from service_core.analytics.line_items import line_item_lists as line_item_lists
from service_core.analytics.line_items.ports import LineItemQuery as LineItemQuery
from service_core.analytics.line_items.ports import LineItemReader as LineItemReader
from service_core.analytics.line_items.ports import LineItemSum as LineItemSum
from service_core.analytics.line_items.product_parts import MAX_ITEM_WEIGHT as MAX_ITEM_WEIGHT
from service_core.analytics.line_items.product_parts import (
    counts_items_instead_of_payments as counts_items_instead_of_payments,
)
from service_core.analytics.line_items.product_parts import main_part_index as main_part_index
from service_core.analytics.line_items.product_parts import split_amount_by_weight as split_amount_by_weight
from service_core.analytics.line_items.product_parts import (
    weighted_parts_by_product as weighted_parts_by_product,
)
from service_core.analytics.line_items.sold_and_returned import (
    charge_or_best_report_with_line_items as charge_or_best_report_with_line_items,
)
from service_core.analytics.line_items.sold_and_returned import (
    select_deduplicated_return_events as select_deduplicated_return_events,
)
from service_core.analytics.measures import MAX_PROPERTY_LABEL_LENGTH as MAX_PROPERTY_LABEL_LENGTH
from service_core.analytics.measures import NOT_SET as NOT_SET
from service_core.analytics.measures import PROPERTY_OWNERS as PROPERTY_OWNERS
from service_core.analytics.measures import Aggregation as Aggregation
from service_core.analytics.measures import Column as Column
from service_core.analytics.measures import ColumnOwner as ColumnOwner
from service_core.analytics.measures import Condition as Condition
from service_core.analytics.measures import DailyMean as DailyMean
from service_core.analytics.measures import Difference as Difference
from service_core.analytics.measures import FilterOperator as FilterOperator
from service_core.analytics.measures import Measure as Measure
from service_core.analytics.measures import NotAll as NotAll
from service_core.analytics.measures import Operand as Operand
from service_core.analytics.measures import Predicate as Predicate
from service_core.analytics.measures import Ratio as Ratio
from service_core.analytics.measures import Relation as Relation
from service_core.analytics.measures import ad_column as ad_column
from service_core.analytics.measures import count_distinct as count_distinct
from service_core.analytics.measures import count_rows as count_rows
from service_core.analytics.measures import entry_column as entry_column
from service_core.analytics.measures import property_column as property_column
from service_core.analytics.measures import property_label_column as property_label_column
from service_core.analytics.measures import sum_column as sum_column
from service_core.analytics.measures import touch_column as touch_column
from service_core.analytics.paths.ports import PathReader as PathReader
from service_core.analytics.paths.ports import PathSession as PathSession
from service_core.analytics.paths.ports import PathSessionPage as PathSessionPage
from service_core.analytics.paths.ports import PathSessionsQuery as PathSessionsQuery
from service_core.analytics.paths.ports import PathsQuery as PathsQuery
from service_core.analytics.paths.ports import PathsResult as PathsResult
from service_core.analytics.paths.ports import PathStep as PathStep
from service_core.analytics.paths.ports import PathStepCondition as PathStepCondition
from service_core.analytics.people.email_matches import has_email as has_email
from service_core.analytics.people.identity_resolution import IdentityMap as IdentityMap
from service_core.analytics.people.identity_resolution import (
    resolve_identities_ignoring_bots as resolve_identities_ignoring_bots,
)
from service_core.analytics.people.identity_resolution import user_id_of_person as user_id_of_person
from service_core.analytics.people.ports import MAX_CONFLICTING_PERSONS as MAX_CONFLICTING_PERSONS
from service_core.analytics.people.ports import MAX_ITEMS_PER_PERSON as MAX_ITEMS_PER_PERSON
from service_core.analytics.people.ports import ConflictingPerson as ConflictingPerson
from service_core.analytics.people.ports import ConversionPath as ConversionPath
from service_core.analytics.people.ports import ExternalIdConflict as ExternalIdConflict
from service_core.analytics.people.ports import LocationAndDevice as LocationAndDevice
from service_core.analytics.people.ports import PeoplePageQuery as PeoplePageQuery
from service_core.analytics.people.ports import Person as Person
from service_core.analytics.people.ports import PersonActivity as PersonActivity
from service_core.analytics.people.ports import PersonActivityQuery as PersonActivityQuery
from service_core.analytics.people.ports import PersonActivityReader as PersonActivityReader
from service_core.analytics.people.ports import PersonFirstTouch as PersonFirstTouch
from service_core.analytics.people.ports import PersonReader as PersonReader
from service_core.analytics.people.ports import PersonSession as PersonSession
from service_core.analytics.people.ports import Profile as Profile
from service_core.analytics.people.ports import Touch as Touch
from service_core.analytics.people.touches import TouchEvent as TouchEvent
from service_core.analytics.people.touches import (
    detect_touches_without_bots_and_repeats as detect_touches_without_bots_and_repeats,
)
from service_core.analytics.people.touches import list_client_reported_touches as list_client_reported_touches
from service_core.analytics.people.traits import get_text_trait as get_text_trait
from service_core.analytics.people.traits import merge_traits_latest_non_null as merge_traits_latest_non_null
from service_core.analytics.ports import ActiveVisitor as ActiveVisitor
from service_core.analytics.ports import AggregateQuery as AggregateQuery
from service_core.analytics.ports import AggregateReader as AggregateReader
from service_core.analytics.ports import AggregateResult as AggregateResult
from service_core.analytics.ports import ColumnSort as ColumnSort
from service_core.analytics.ports import ColumnValueCount as ColumnValueCount
from service_core.analytics.ports import ConversionSet as ConversionSet
from service_core.analytics.ports import CreditRule as CreditRule
from service_core.analytics.ports import CustomPropertySummary as CustomPropertySummary
from service_core.analytics.ports import EventNameSummary as EventNameSummary
from service_core.analytics.ports import EventPageQuery as EventPageQuery
from service_core.analytics.ports import EventPageResult as EventPageResult
from service_core.analytics.ports import EventReader as EventReader
from service_core.analytics.ports import QueryScope as QueryScope
from service_core.analytics.ports import QueryTimeout as QueryTimeout
from service_core.analytics.ports import StoreUnavailable as StoreUnavailable
from service_core.analytics.ports import TouchPath as TouchPath
from service_core.analytics.ports import TouchPathQuery as TouchPathQuery
from service_core.analytics.ports import TouchPathReader as TouchPathReader
from service_core.analytics.ports import Weighting as Weighting
from service_core.analytics.postbacks.ports import PostbackCount as PostbackCount
from service_core.analytics.postbacks.ports import PostbackReader as PostbackReader
from service_core.analytics.postbacks.ports import PostbackSummary as PostbackSummary
from service_core.analytics.postbacks.ports import RulePostbackCount as RulePostbackCount
from service_core.analytics.query.catalog import Additivity as Additivity
from service_core.analytics.query.catalog import Dimension as Dimension
from service_core.analytics.query.catalog import Metric as Metric
from service_core.analytics.query.catalog import MetricUnit as MetricUnit
from service_core.analytics.query.evaluate_predicate import condition_matches as condition_matches
from service_core.analytics.query.evaluate_predicate import (
    lower_case_letter_by_letter as lower_case_letter_by_letter,
)
from service_core.analytics.query.evaluate_predicate import property_label as property_label
from service_core.analytics.query.evaluate_predicate import scalar_as_json_text as scalar_as_json_text
from service_core.analytics.query.evaluate_predicate import value_matches as value_matches
from service_core.analytics.query.trailing_window import compute_trailing_span as compute_trailing_span
from service_core.analytics.reads.export_streams import RowBatch as RowBatch
from service_core.analytics.reads.export_streams import RowStreams as RowStreams
from service_core.analytics.receipts.models import StoredReceipt as StoredReceipt
from service_core.analytics.receipts.ports import Receipts as Receipts
from service_core.changes.audit_log import AuditEntry as AuditEntry
from service_core.changes.audit_log import AuditFilter as AuditFilter
from service_core.changes.change_executor import ChangeExecutor as ChangeExecutor
from service_core.changes.change_executor import ChangePlanner as ChangePlanner
from service_core.changes.envelope import Envelope as Envelope
from service_core.changes.models import GENERATED_FIELDS as GENERATED_FIELDS
from service_core.changes.models import Action as Action
from service_core.changes.models import Change as Change
from service_core.changes.operations import requested_dry_run as requested_dry_run
from service_core.changes.optimistic_locking import VersionedBody as VersionedBody
from service_core.changes.optimistic_locking import sent_fields as sent_fields
from service_core.changes.pagination import ListQuery as ListQuery
from service_core.changes.ports import RequestInProgress as RequestInProgress
from service_core.changes.ports import Transaction as Transaction
from service_core.changes.ports import Transactions as Transactions
from service_core.changes.ports import UniqueKeyConflict as UniqueKeyConflict
from service_core.changes.ports import UniqueKeyLookup as UniqueKeyLookup
from service_core.changes.record_plans import get_or_404 as get_or_404
from service_core.changes.record_plans import new_record_fields as new_record_fields
from service_core.changes.record_plans import plan_delete as plan_delete
from service_core.changes.record_plans import plan_update as plan_update
from service_core.changes.resource import NO_FILTER as NO_FILTER
from service_core.changes.resource import RecordReader as RecordReader
from service_core.changes.resource import Resource as Resource
from service_core.changes.resource import ResourceType as ResourceType
from service_core.changes.resource import Serializer as Serializer
from service_core.changes.resource import State as State
from service_core.changes.resource_definition import Listing as Listing
from service_core.changes.resource_definition import ResourceDefinition as ResourceDefinition
from service_core.changes.resource_definition import WriteContext as WriteContext
from service_core.changes.resource_definition import resource as resource
from service_core.changes.schemas import DryRunBody as DryRunBody
from service_core.changes.schemas import DryRunQuery as DryRunQuery
from service_core.commerce import platform_http as platform_http
from service_core.commerce.ads import platform_numbers as platform_numbers
from service_core.commerce.ads.models import AdAccount as AdAccount
from service_core.commerce.ads.models import AdEntity as AdEntity
from service_core.commerce.ads.models import AdLevel as AdLevel
from service_core.commerce.ads.models import AdPlatformInfo as AdPlatformInfo
from service_core.commerce.ads.models import SpendRow as SpendRow
from service_core.commerce.ads.ports import AdPlatform as AdPlatform
from service_core.commerce.ads.ports import AdSpendStore as AdSpendStore
from service_core.commerce.ads.ports import SpendQuery as SpendQuery
from service_core.commerce.ads.ports import SpendSum as SpendSum
from service_core.commerce.ads.ports import SupportsBaseUrl as SupportsBaseUrl
from service_core.commerce.costs.models import ItemCost as ItemCost
from service_core.commerce.costs.models import ItemIdType as ItemIdType
from service_core.commerce.costs.operations import cost_import_operations as cost_import_operations
from service_core.commerce.credentials.models import EncryptedSecrets as EncryptedSecrets
from service_core.commerce.credentials.ports import CipherUnavailable as CipherUnavailable
from service_core.commerce.credentials.ports import ConnectionSecrets as ConnectionSecrets
from service_core.commerce.credentials.ports import EncryptedSecretStore as EncryptedSecretStore
from service_core.commerce.credentials.ports import SecretCipher as SecretCipher
from service_core.commerce.platform_errors import CredentialsRejected as CredentialsRejected
from service_core.commerce.platform_errors import PlatformUnavailable as PlatformUnavailable
from service_core.commerce.providers.app_stores.events import app_store_event_names as app_store_event_names
from service_core.commerce.providers.app_stores.events import (
    map_app_store_notification as map_app_store_notification,
)
from service_core.commerce.providers.app_stores.models import AppStoreNotification as AppStoreNotification
from service_core.commerce.providers.app_stores.models import NotificationKind as NotificationKind
from service_core.commerce.providers.map_message import (
    to_import_entry_without_subscription_facts as to_import_entry_without_subscription_facts,
)
from service_core.commerce.providers.message_fields import MessageFields as MessageFields
from service_core.commerce.providers.models import MappedMessage as MappedMessage
from service_core.commerce.providers.models import PolledMessage as PolledMessage
from service_core.commerce.providers.models import RevenueProviderInfo as RevenueProviderInfo
from service_core.commerce.providers.models import WebhookDelivery as WebhookDelivery
from service_core.commerce.providers.ports import PollableProvider as PollableProvider
from service_core.commerce.providers.ports import PollRequest as PollRequest
from service_core.commerce.providers.ports import ProcessedMessages as ProcessedMessages
from service_core.commerce.providers.ports import RevenueProvider as RevenueProvider
from service_core.commerce.providers.ports import WebhookSource as WebhookSource
from service_core.commerce.providers.signatures import constant_time_equals as constant_time_equals
from service_core.commerce.providers.signatures import hmac_sha256 as hmac_sha256
from service_core.commerce.providers.signatures import (
    is_epoch_within_300_seconds as is_epoch_within_300_seconds,
)
from service_core.commerce.providers.signatures import verify_standard_webhook as verify_standard_webhook
from service_core.commerce.providers.signatures import (
    verify_timestamped_signature as verify_timestamped_signature,
)
from service_core.commerce.subscriptions.lifecycle import LifecycleState as LifecycleState
from service_core.commerce.subscriptions.lifecycle import LifecycleStatus as LifecycleStatus
from service_core.commerce.subscriptions.lifecycle import StatusPeriod as StatusPeriod
from service_core.commerce.subscriptions.lifecycle import lifecycle_states as lifecycle_states
from service_core.commerce.subscriptions.lifecycle import (
    status_periods_since_first_alive as status_periods_since_first_alive,
)
from service_core.commerce.subscriptions.models import Interval as Interval
from service_core.commerce.subscriptions.models import PaymentKind as PaymentKind
from service_core.commerce.subscriptions.models import SubscriptionPayment as SubscriptionPayment
from service_core.commerce.subscriptions.models import SubscriptionState as SubscriptionState
from service_core.commerce.subscriptions.models import SubscriptionStatus as SubscriptionStatus
from service_core.commerce.subscriptions.movements import Movement as Movement
from service_core.commerce.subscriptions.movements import MovementKind as MovementKind
from service_core.commerce.subscriptions.movements import subscription_movements as subscription_movements
from service_core.commerce.subscriptions.ports import MovementQuery as MovementQuery
from service_core.commerce.subscriptions.ports import MovementSum as MovementSum
from service_core.commerce.subscriptions.ports import SubscriptionPage as SubscriptionPage
from service_core.commerce.subscriptions.ports import SubscriptionStore as SubscriptionStore
from service_core.commerce.sync.freshness import PollState as PollState
from service_core.commerce.sync.freshness import PollStates as PollStates
from service_core.commerce.sync.ports import SyncLeases as SyncLeases
from service_core.delivery.exports.models import Export as Export
from service_core.delivery.exports.models import ExportFormat as ExportFormat
from service_core.delivery.exports.models import ExportStatus as ExportStatus
from service_core.delivery.exports.models import ExportType as ExportType
from service_core.delivery.exports.ports import ExportJobs as ExportJobs
from service_core.delivery.exports.ports import Exports as Exports
from service_core.delivery.exports.ports import ExportStorage as ExportStorage
from service_core.delivery.exports.ports import ExportStorageUnavailable as ExportStorageUnavailable
from service_core.delivery.exports.ports import JobQueue as JobQueue
from service_core.delivery.exports.ports import JobQueueUnavailable as JobQueueUnavailable
from service_core.delivery.imports.models import ImportFormat as ImportFormat
from service_core.delivery.imports.models import ImportJob as ImportJob
from service_core.delivery.imports.models import ImportStatus as ImportStatus
from service_core.delivery.imports.ports import Imports as Imports
from service_core.delivery.lake.ports import LakeStorage as LakeStorage
from service_core.delivery.plugin_tasks.models import EventReaction as EventReaction
from service_core.delivery.plugin_tasks.models import ScheduledJob as ScheduledJob
from service_core.delivery.postbacks import hashing as hashing
from service_core.delivery.postbacks.circuit_breaker import AccountHealth as AccountHealth
from service_core.delivery.postbacks.function_sender import FunctionSender as FunctionSender
from service_core.delivery.postbacks.function_sender import SendCall as SendCall
from service_core.delivery.postbacks.models import Accepted as Accepted
from service_core.delivery.postbacks.models import ActionSource as ActionSource
from service_core.delivery.postbacks.models import ClickId as ClickId
from service_core.delivery.postbacks.models import Conversion as Conversion
from service_core.delivery.postbacks.models import Customer as Customer
from service_core.delivery.postbacks.models import Deferred as Deferred
from service_core.delivery.postbacks.models import Destination as Destination
from service_core.delivery.postbacks.models import LineItem as LineItem
from service_core.delivery.postbacks.models import Rejected as Rejected
from service_core.delivery.postbacks.models import SendOutcome as SendOutcome
from service_core.delivery.postbacks.outbox import PostbackOutbox as PostbackOutbox
from service_core.delivery.postbacks.outbox import PostbackQueues as PostbackQueues
from service_core.delivery.postbacks.ports import BatchRejected as BatchRejected
from service_core.delivery.postbacks.ports import ConversionSender as ConversionSender
from service_core.delivery.postbacks.ports import RelocatableSender as RelocatableSender
from service_core.delivery.postbacks.ports import SendLimits as SendLimits
from service_core.delivery.postbacks.ports import Throttle as Throttle
from service_core.delivery.postbacks.ports import raise_for_status as raise_for_status
from service_core.delivery.postbacks.postback import Postback as Postback
from service_core.delivery.postbacks.postback import PostbackQueue as PostbackQueue
from service_core.delivery.postbacks.postback import PostbackStatus as PostbackStatus
from service_core.delivery.postbacks.postback import SkipReason as SkipReason
from service_core.delivery.postbacks.postback import mark_skipped as mark_skipped
from service_core.extensions.adapters import Adapter as Adapter
from service_core.extensions.adapters import AdapterSettings as AdapterSettings
from service_core.extensions.adapters import LocalDataKind as LocalDataKind
from service_core.extensions.adapters import ServerSettings as ServerSettings
from service_core.extensions.command_groups import CommandGroup as CommandGroup
from service_core.extensions.hooks import hook as hook
from service_core.extensions.pages import PageAnswer as PageAnswer
from service_core.extensions.pages import PageApi as PageApi
from service_core.extensions.pages import PageRequest as PageRequest
from service_core.extensions.pages import PageSection as PageSection
from service_core.extensions.pages import WebPage as WebPage
from service_core.extensions.plugin_info import API_VERSION as API_VERSION
from service_core.extensions.plugin_info import PluginData as PluginData
from service_core.extensions.plugin_info import PluginInfo as PluginInfo
from service_core.extensions.workspace_store import WorkspaceStore as WorkspaceStore
from service_core.ingestion.access_log import LoggedRequest as LoggedRequest
from service_core.ingestion.access_log import parse_logged_request as parse_logged_request
from service_core.ingestion.amounts import CHARGE_COMPONENTS as CHARGE_COMPONENTS
from service_core.ingestion.campaign import campaign_values_of_url as campaign_values_of_url
from service_core.ingestion.event_columns import ColumnGroup as ColumnGroup
from service_core.ingestion.event_columns import EventColumns as EventColumns
from service_core.ingestion.event_history import EventHistoryState as EventHistoryState
from service_core.ingestion.event_names import ADD_TO_CART_EVENTS as ADD_TO_CART_EVENTS
from service_core.ingestion.event_names import CHECKOUT_EVENTS as CHECKOUT_EVENTS
from service_core.ingestion.event_names import IDENTIFY_EVENT as IDENTIFY_EVENT
from service_core.ingestion.event_names import LEAD_EVENTS as LEAD_EVENTS
from service_core.ingestion.event_names import PAGE_VIEWS as PAGE_VIEWS
from service_core.ingestion.event_names import PAYMENT_FEE_EVENT as PAYMENT_FEE_EVENT
from service_core.ingestion.event_names import PURCHASE_EVENTS as PURCHASE_EVENTS
from service_core.ingestion.event_names import REFUND_EVENTS as REFUND_EVENTS
from service_core.ingestion.event_names import RENEWAL_EVENTS as RENEWAL_EVENTS
from service_core.ingestion.event_names import RENEWAL_PROPERTY as RENEWAL_PROPERTY
from service_core.ingestion.event_names import SIGNUP_EVENTS as SIGNUP_EVENTS
from service_core.ingestion.event_names import SUBSCRIPTION_EVENTS as SUBSCRIPTION_EVENTS
from service_core.ingestion.event_names import TRIAL_EVENTS as TRIAL_EVENTS
from service_core.ingestion.event_names import is_system_event as is_system_event
from service_core.ingestion.event_source import WEB as WEB
from service_core.ingestion.import_sources.files import FileLine as FileLine
from service_core.ingestion.import_sources.files import FileRow as FileRow
from service_core.ingestion.import_sources.files import ImportFile as ImportFile
from service_core.ingestion.import_sources.models import ImportEntry as ImportEntry
from service_core.ingestion.import_sources.models import ImportSourceInfo as ImportSourceInfo
from service_core.ingestion.import_sources.ports import ImportSource as ImportSource
from service_core.ingestion.models import CAMPAIGN_COLUMNS as CAMPAIGN_COLUMNS
from service_core.ingestion.models import COLUMNS as COLUMNS
from service_core.ingestion.models import COMPUTED_COLUMNS as COMPUTED_COLUMNS
from service_core.ingestion.models import IMPORT_PROPERTY as IMPORT_PROPERTY
from service_core.ingestion.models import REENRICHED_COLUMNS as REENRICHED_COLUMNS
from service_core.ingestion.models import REPORTED_TOUCH_COLUMNS as REPORTED_TOUCH_COLUMNS
from service_core.ingestion.models import TOUCH_POSITIONS as TOUCH_POSITIONS
from service_core.ingestion.models import WIRE_COLUMNS as WIRE_COLUMNS
from service_core.ingestion.models import Event as Event
from service_core.ingestion.models import IngestEndpoint as IngestEndpoint
from service_core.ingestion.models import KnownEventStore as KnownEventStore
from service_core.ingestion.models import LedgerRow as LedgerRow
from service_core.ingestion.models import QuarantinedEvent as QuarantinedEvent
from service_core.ingestion.models import QueuedEvent as QueuedEvent
from service_core.ingestion.models import ReceivedEvent as ReceivedEvent
from service_core.ingestion.models import RejectionReason as RejectionReason
from service_core.ingestion.models import SupersededEvent as SupersededEvent
from service_core.ingestion.page_urls import split_url as split_url
from service_core.ingestion.parse_event import ExternalIdEvent as ExternalIdEvent
from service_core.ingestion.ports import NONE_DROPPED as NONE_DROPPED
from service_core.ingestion.ports import NOTHING_IGNORED as NOTHING_IGNORED
from service_core.ingestion.ports import Device as Device
from service_core.ingestion.ports import EnqueueFailed as EnqueueFailed
from service_core.ingestion.ports import EnqueueResult as EnqueueResult
from service_core.ingestion.ports import EventStore as EventStore
from service_core.ingestion.ports import EventStoreRecord as EventStoreRecord
from service_core.ingestion.ports import GeoLocation as GeoLocation
from service_core.ingestion.ports import GeoLocator as GeoLocator
from service_core.ingestion.ports import IngestQueue as IngestQueue
from service_core.ingestion.ports import LinkLookup as LinkLookup
from service_core.ingestion.ports import PublicSuffixList as PublicSuffixList
from service_core.ingestion.ports import Quarantine as Quarantine
from service_core.ingestion.ports import QueueState as QueueState
from service_core.ingestion.ports import SessionKey as SessionKey
from service_core.ingestion.ports import SessionState as SessionState
from service_core.ingestion.ports import StoredEventKey as StoredEventKey
from service_core.ingestion.ports import TaggedLink as TaggedLink
from service_core.ingestion.ports import TransformGap as TransformGap
from service_core.ingestion.ports import TransformGaps as TransformGaps
from service_core.ingestion.ports import UserAgentParser as UserAgentParser
from service_core.ingestion.ports import WaitingEvents as WaitingEvents
from service_core.ingestion.property_addresses import ADDRESS_PATTERNS as ADDRESS_PATTERNS
from service_core.ingestion.property_addresses import POSSIBLE_ADDRESS_PATTERN as POSSIBLE_ADDRESS_PATTERN
from service_core.ingestion.property_addresses import truncate_addresses_in_json as truncate_addresses_in_json
from service_core.ingestion.protocols.fields import TRANSPARENT_GIF as TRANSPARENT_GIF
from service_core.ingestion.protocols.fields import screen_size_properties as screen_size_properties
from service_core.ingestion.protocols.models import DEFAULT_BODY_BYTES as DEFAULT_BODY_BYTES
from service_core.ingestion.protocols.models import REFUSAL_STATUSES as REFUSAL_STATUSES
from service_core.ingestion.protocols.models import ProtocolEvent as ProtocolEvent
from service_core.ingestion.protocols.models import ProtocolInfo as ProtocolInfo
from service_core.ingestion.protocols.models import ProtocolOutcome as ProtocolOutcome
from service_core.ingestion.protocols.models import ProtocolRequest as ProtocolRequest
from service_core.ingestion.protocols.models import ProtocolResponse as ProtocolResponse
from service_core.ingestion.protocols.models import ProtocolRoute as ProtocolRoute
from service_core.ingestion.protocols.models import RequestRefusal as RequestRefusal
from service_core.ingestion.protocols.models import UnreadableRequest as UnreadableRequest
from service_core.ingestion.protocols.models import decode_base64_or_none as decode_base64_or_none
from service_core.ingestion.protocols.models import drop_none as drop_none
from service_core.ingestion.protocols.models import (
    event_time_by_server_clock_or_as_sent as event_time_by_server_clock_or_as_sent,
)
from service_core.ingestion.protocols.models import json_object as json_object
from service_core.ingestion.protocols.models import parse_form as parse_form
from service_core.ingestion.protocols.models import text_field as text_field
from service_core.ingestion.protocols.ports import IngestProtocol as IngestProtocol
from service_core.ingestion.transforms.models import ChangedColumns as ChangedColumns
from service_core.ingestion.transforms.models import DroppedEvent as DroppedEvent
from service_core.ingestion.transforms.models import FailurePolicy as FailurePolicy
from service_core.ingestion.transforms.models import Transform as Transform
from service_core.ingestion.transforms.models import TransformFunction as TransformFunction
from service_core.ingestion.transforms.models import TransformResult as TransformResult
from service_core.ingestion.visit_columns import HOSTNAME_PATTERN as HOSTNAME_PATTERN
from service_core.ingestion.visit_columns import SCREEN_CLASSES as SCREEN_CLASSES
from service_core.kernel.call_batching import CallBatcher as CallBatcher
from service_core.kernel.call_batching import (
    gather_results_or_expected_errors as gather_results_or_expected_errors,
)
from service_core.kernel.clock import Clock as Clock
from service_core.kernel.clock import epoch_milliseconds as epoch_milliseconds
from service_core.kernel.clock import system_clock as system_clock
from service_core.kernel.errors import Conflict as Conflict
from service_core.kernel.errors import NotFound as NotFound
from service_core.kernel.errors import StartupError as StartupError
from service_core.kernel.errors import Unprocessable as Unprocessable
from service_core.kernel.exchange_rates import MAX_CONVERTED_MINOR as MAX_CONVERTED_MINOR
from service_core.kernel.exchange_rates import DayRate as DayRate
from service_core.kernel.exchange_rates import ExchangeRates as ExchangeRates
from service_core.kernel.file_response import ByteStreamOpener as ByteStreamOpener
from service_core.kernel.money import allocate_by_largest_remainder as allocate_by_largest_remainder
from service_core.kernel.money import currency_decimals as currency_decimals
from service_core.kernel.money import to_major as to_major
from service_core.kernel.money import to_minor as to_minor
from service_core.kernel.operations import HandlerResponse as HandlerResponse
from service_core.kernel.operations import Operation as Operation
from service_core.kernel.operations import RateLimitClass as RateLimitClass
from service_core.kernel.operations import Scope as Scope
from service_core.kernel.operations import operation as operation
from service_core.kernel.paging import KeysetCursor as KeysetCursor
from service_core.kernel.private_files import create_private_file as create_private_file
from service_core.kernel.private_files import create_private_folder as create_private_folder
from service_core.kernel.private_files import restrict_database_to_owner as restrict_database_to_owner
from service_core.kernel.schemas import BodyModel as BodyModel
from service_core.kernel.schemas import ResponseModel as ResponseModel
from service_core.kernel.time_ranges import BucketRun as BucketRun
from service_core.kernel.time_ranges import Buckets as Buckets
from service_core.kernel.time_ranges import BucketUnit as BucketUnit
from service_core.kernel.time_ranges import TimeRange as TimeRange
from service_core.kernel.wall_clock import local_date as local_date
from service_core.kernel.writable_paths import (
    require_writable_paths_or_parents as require_writable_paths_or_parents,
)
from service_core.privacy.models import Erasure as Erasure
from service_core.privacy.models import ErasureStatus as ErasureStatus
from service_core.privacy.models import PersonSubject as PersonSubject
from service_core.privacy.ports import Erasures as Erasures
from service_core.privacy.ports import PersonalRecords as PersonalRecords
from service_core.workspace.alerts.models import AlertState as AlertState
from service_core.workspace.alerts.models import AlertStatus as AlertStatus
from service_core.workspace.alerts.ports import AlertStates as AlertStates
from service_core.workspace.links.clicks import Click as Click
from service_core.workspace.links.domains.ports import DnsUnavailable as DnsUnavailable
from service_core.workspace.links.domains.ports import TxtRecords as TxtRecords
from service_core.workspace.links.ports import CachedRedirect as CachedRedirect
from service_core.workspace.links.ports import ClickCount as ClickCount
from service_core.workspace.links.ports import ClickStore as ClickStore
from service_core.workspace.links.ports import RedirectCache as RedirectCache
from service_core.workspace.links.ports import RedirectCacheUnavailable as RedirectCacheUnavailable
from service_core.workspace.links.redirect import Redirect as Redirect
from service_core.workspace.notifications.models import CONFIRM_OCCURRENCE as CONFIRM_OCCURRENCE
from service_core.workspace.notifications.models import FAILED_CONFIRMATION_PAUSE as FAILED_CONFIRMATION_PAUSE
from service_core.workspace.notifications.models import SOURCE_TYPES_BY_QUEUE as SOURCE_TYPES_BY_QUEUE
from service_core.workspace.notifications.models import Channel as Channel
from service_core.workspace.notifications.models import DeliveryQueue as DeliveryQueue
from service_core.workspace.notifications.models import Notification as Notification
from service_core.workspace.notifications.models import NotificationStatus as NotificationStatus
from service_core.workspace.notifications.ports import EmailConsent as EmailConsent
from service_core.workspace.notifications.ports import EmailConsents as EmailConsents
from service_core.workspace.notifications.ports import NotificationOutbox as NotificationOutbox
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT as CUSTOM_EVENT
from service_core.workspace.rules.postback_platforms import PostbackPlatform as PostbackPlatform
from service_core.workspace.share_links.ports import ShareLinkViews as ShareLinkViews
from service_core.workspace.share_links.ports import ViewCount as ViewCount
from service_core.workspace.usage_alerts.ports import UsageAlertLog as UsageAlertLog
