"""Addresses of the studies, their pools, the transfer suite, jobs and hosts."""

from __future__ import annotations

from django.urls import include, path, register_converter
from django.urls.converters import PathConverter, StringConverter

from studies.views import (
    beside,
    commits,
    compare,
    configuration,
    configuration_list,
    costs,
    downloads,
    events,
    evidence,
    history,
    home,
    hosts,
    jobs,
    methods,
    outcomes,
    overview,
    pairs,
    paper,
    pool,
    protocol,
    refusals,
    study_drafts,
    targets,
    transfer,
    transfer_submissions,
    unscored,
    what_if,
)


class RecordName(PathConverter):
    """A record's own name: any text with slashes, but without the one character PostgreSQL can't look for."""

    regex = r"[^\x00]+"


class StepName(StringConverter):
    """A step of a draft."""

    regex = "|".join(study_drafts.STEPS)


register_converter(RecordName, "name")
register_converter(StepName, "step")

study_patterns = [
    path("", overview.overview, name="study"),
    path("unscored/", unscored.unscored, name="unscored"),
    path("unscored.csv", downloads.unscored_csv, name="unscored-csv"),
    path("protocol/", protocol.protocol, name="protocol"),
    path("pairs/", pairs.pairs, name="pairs"),
    path("pairs.csv", downloads.pairs_csv, name="pairs-csv"),
    path("costs/", costs.costs, name="costs"),
    path("costs.csv", downloads.costs_csv, name="costs-csv"),
    path("events/", events.events, name="events"),
    path("events.csv", downloads.events_csv, name="events-csv"),
    path("evidence/", evidence.evidence, name="evidence"),
    path("configurations/", configuration_list.configurations, name="configurations"),
    path("configurations.csv", configuration_list.configurations_csv, name="configurations-csv"),
    path("configurations/<name:configuration_id>/", configuration.configuration, name="configuration"),
    path("outcomes/", outcomes.outcomes, name="outcomes"),
    path("slots/<name:experiment_id>/", outcomes.slot, name="slot"),
    path("attempts/<name:invocation_id>/", outcomes.attempt, name="attempt"),
    path("commits/", commits.commits, name="commits"),
    path("commits/<name:commit>/", commits.commit, name="commit"),
    path("badge.svg", commits.badge, name="badge"),
    path("history/", history.history, name="history"),
    path("refused/", refusals.refused, name="refused"),
    path("history.csv", downloads.history_csv, name="history-csv"),
    path("paper/", paper.paper, name="paper"),
    path("paper.zip", paper.archive, name="paper-archive"),
    path("citation.bib", paper.citation_bib, name="citation-bib"),
    path("citation.cff", paper.citation_cff, name="citation-cff"),
    path("what-if/", what_if.what_if, name="what-if"),
    path("methods/", methods.methods, name="methods"),
    path("targets/", targets.targets, name="targets"),
    path("beside-parent/", beside.beside, name="beside"),
    path("methods/<slug:name>/", methods.method, name="method"),
]

pool_patterns = [
    path("", pool.pool, name="pool"),
    path("configurations/", pool.pool_configurations, name="pool-configurations"),
    path("configurations.csv", pool.pool_configurations_csv, name="pool-configurations-csv"),
    path(
        "configurations/<name:configuration_id>/",
        configuration.pool_configuration,
        name="pool-configuration",
    ),
]

job_patterns = [
    path("", jobs.job, name="job"),
    path("live/", jobs.live, name="job-live"),
    path("result.json", jobs.result_document, name="job-result"),
    path("file/", jobs.file, name="job-file"),
    path("cancel/", jobs.cancel, name="job-cancel"),
    path("retry/", jobs.retry, name="job-retry"),
    path("rerun/", jobs.rerun, name="job-rerun"),
]

suite_patterns = [
    path("", transfer.overview, name="transfer-suite"),
    path("methods/", transfer.methods, name="transfer-methods"),
    path("inputs/<slug:selection>.json", transfer.inputs, name="transfer-inputs"),
    path("tasks/<str:task_id>/inputs.json", transfer.task_inputs, name="transfer-task-inputs"),
    path("submit/", transfer_submissions.submit_predictions, name="transfer-submit"),
    path("submissions/", transfer_submissions.submissions, name="transfer-submissions"),
    path("submissions/<slug:digest>/", transfer_submissions.submission, name="transfer-submission"),
    path("compare/", transfer_submissions.compare, name="transfer-compare"),
    path("queries/", transfer_submissions.queries, name="transfer-queries"),
]

draft_patterns = [
    path("", study_drafts.draft, name="study-draft"),
    path("freeze/", study_drafts.freeze, name="study-draft-freeze"),
    path("away/", study_drafts.throw_away, name="study-draft-away"),
    path("<step:name>/", study_drafts.step, name="study-draft-step"),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("compare/", compare.compare, name="compare"),
    path("drafts/", study_drafts.drafts, name="study-drafts"),
    path("drafts/<int:pk>/", include(draft_patterns)),
    path("health/evidence/", evidence.health, name="health-evidence"),
    path("begin/samples/", home.load_samples, name="load-samples"),
    path("studies/<slug:slug>/", include(study_patterns)),
    path("pools/<slug:slug>/", include(pool_patterns)),
    path("transfer/", transfer.index, name="transfer"),
    path("transfer/<slug:slug>/", include(suite_patterns)),
    path("jobs/", jobs.jobs, name="jobs"),
    path("jobs/start/", jobs.start_job, name="job-start"),
    path("jobs/<int:pk>/", include(job_patterns)),
    path("hosts/", hosts.hosts, name="hosts"),
    path("hosts/<slug:name>/", hosts.host, name="host"),
]
