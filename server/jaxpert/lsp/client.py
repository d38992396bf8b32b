"""What the connected client can do, read once from its capabilities."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types

from jaxpert.lsp.convert import negotiate
from jaxpert.records import dataclass
from jaxpert.text.columns import Encoding

SHOW_PLACES = "jaxpert.showPlaces"
"""The command of a client that shows places: a URI, a position in it, and the places as locations."""


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """The abilities that change what we send.

    Attributes:
        encoding: the unit of columns on the wire.
        pulls: asks for diagnostics itself; nothing is pushed for its documents then.
        refreshes: can be told to pull again.
        related, code_links, tags, data, versions: which parts of a diagnostic it understands.
        markdown: whether hovers may be Markdown.
        resolves_edits: fetches the edit of a code action when the user picks it.
        versioned_edits: takes edits that name the document version they are for.
        configuration: answers ``workspace/configuration``.
        watches_files: lets us name the files that it watches.
        registers_configuration: wants to be asked before it sends ``didChangeConfiguration``.
        progress_bars: shows the progress of long work.
        refreshes_hints, refreshes_lenses: can be told to ask for inlay hints, or code lenses, again.
        links: takes the place that a definition was asked at with the definition.
        prepares_renames: asks whether something can be renamed before it asks for the new name.
        nested_symbols: shows symbols inside others.
        documents_completions: whether completions may carry Markdown.
        snippets: whether completions may have places to fill in.
        documents_signatures: whether signatures may carry Markdown.
        label_offsets: finds a parameter in its signature by offsets, and not by its text.
        commands: commands of its own that our answers may name.
        shows_status: wants to hear when our status changes.
    """

    encoding: Encoding = "utf-16"
    pulls: bool = False
    refreshes: bool = False
    related: bool = False
    code_links: bool = False
    tags: bool = False
    data: bool = False
    versions: bool = False
    markdown: bool = False
    resolves_edits: bool = False
    versioned_edits: bool = False
    configuration: bool = False
    watches_files: bool = False
    registers_configuration: bool = False
    progress_bars: bool = False
    refreshes_hints: bool = False
    refreshes_lenses: bool = False
    links: bool = False
    prepares_renames: bool = False
    nested_symbols: bool = False
    documents_completions: bool = False
    snippets: bool = False
    documents_signatures: bool = False
    label_offsets: bool = False
    commands: frozenset[str] = frozenset()
    shows_status: bool = False

    @staticmethod
    def of(capabilities: types.ClientCapabilities) -> ClientProfile:
        """The profile that ``capabilities`` describe; whatever they leave out is taken as missing."""
        general = capabilities.general
        text = capabilities.text_document or types.TextDocumentClientCapabilities()
        workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
        publish = text.publish_diagnostics or types.PublishDiagnosticsClientCapabilities()
        pull = text.diagnostic
        action = text.code_action or types.CodeActionClientCapabilities()
        # A client with pull diagnostics describes its diagnostics there; older ones know only `publish`.
        said = [part for part in (publish, pull) if part is not None]
        resolvable = action.resolve_support.properties if action.resolve_support else ()
        formats = (text.hover.content_format if text.hover else None) or ()
        edit = workspace.workspace_edit
        item = (text.completion.completion_item if text.completion else None) or types.ClientCompletionItemOptions()
        signature = text.signature_help.signature_information if text.signature_help else None
        labels = signature.parameter_information if signature else None
        watched = workspace.did_change_watched_files
        changed = workspace.did_change_configuration
        return ClientProfile(
            encoding=negotiate(general.position_encodings if general else None),
            pulls=pull is not None,
            refreshes=bool(workspace.diagnostics and workspace.diagnostics.refresh_support),
            related=any(part.related_information for part in said),
            code_links=any(part.code_description_support for part in said),
            tags=any(part.tag_support for part in said),
            data=any(part.data_support for part in said),
            versions=bool(publish.version_support),
            markdown=bool(formats) and formats[0] == types.MarkupKind.Markdown,
            resolves_edits=bool(action.data_support) and "edit" in resolvable,
            versioned_edits=bool(edit and edit.document_changes),
            configuration=bool(workspace.configuration),
            watches_files=bool(watched and watched.dynamic_registration),
            registers_configuration=bool(changed and changed.dynamic_registration),
            progress_bars=bool(capabilities.window and capabilities.window.work_done_progress),
            refreshes_hints=bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support),
            refreshes_lenses=bool(workspace.code_lens and workspace.code_lens.refresh_support),
            links=bool(text.definition and text.definition.link_support),
            prepares_renames=bool(text.rename and text.rename.prepare_support),
            nested_symbols=bool(
                text.document_symbol and text.document_symbol.hierarchical_document_symbol_support
            ),
            documents_completions=types.MarkupKind.Markdown in (item.documentation_format or ()),
            snippets=bool(item.snippet_support),
            documents_signatures=bool(
                signature and types.MarkupKind.Markdown in (signature.documentation_format or ())
            ),
            label_offsets=bool(labels and labels.label_offset_support),
            commands=_commands(capabilities.experimental),
            shows_status=bool(_inner(capabilities.experimental, "jaxpertStatus")),
        )


def _commands(experimental: object) -> frozenset[str]:
    """The names in ``experimental.commands.commands``, where clients list their own commands."""
    names = _inner(_inner(experimental, "commands"), "commands")
    return frozenset(str(name) for name in names) if isinstance(names, (list, tuple)) else frozenset()


def _inner(value: object, key: str) -> object:
    """What stands under ``key``, which the protocol does not describe, so that it may be any kind of object."""
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
