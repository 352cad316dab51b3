// The editor, loaded when someone edits: CodeMirror, with the nonce of the page for its styles.

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import {
  defineLanguageFacet,
  Language,
  languageDataProp,
  syntaxHighlighting,
} from '@codemirror/language'
import { MergeView } from '@codemirror/merge'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
  WidgetType,
} from '@codemirror/view'
import { tagHighlighter, tags } from '@lezer/highlight'
import { GFM, parser } from '@lezer/markdown'
import { type HiddenRun, partsOf } from '../../../../text/visible.ts'
import { chipOf } from '../../parts/hidden.tsx'

export interface EditorOptions {
  /** Names the text for those who hear it. */
  readonly label: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly onSave: () => void
}

export interface MergeEditorOptions extends EditorOptions {
  /** The current text, shown next to it, which cannot be edited. */
  readonly theirs: string
}

/** Something in the page that `destroy` takes away. */
interface Shown {
  readonly destroy: () => void
}

export function showEditor(parent: HTMLElement, options: EditorOptions): Shown {
  const state = EditorState.create({ doc: options.text, extensions: extensionsOf(options) })
  const view = new EditorView({ state, parent })
  takeFocus(view)
  return view
}

/** Both texts, of which the right one is edited. */
export function showMerge(parent: HTMLElement, options: MergeEditorOptions): Shown {
  const readOnly = [
    ...shared('Current text'),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
  ]
  const view = new MergeView({
    a: { doc: options.theirs, extensions: readOnly },
    b: { doc: options.text, extensions: extensionsOf(options) },
    parent,
    revertControls: 'a-to-b',
    renderRevertControl: takeButton,
    collapseUnchanged: { margin: 3, minSize: 6 },
  })
  takeFocus(view.b)
  return view
}

/** Stands next to each difference; the view knows which. */
function takeButton(): HTMLElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.title = 'Take the current text here'
  button.ariaLabel = button.title
  button.textContent = '→'
  return button
}

/** The editor may load late: a field that someone types in keeps the focus. */
function takeFocus(view: EditorView): void {
  if (document.activeElement?.matches('input') !== true) view.focus()
}

function extensionsOf({ label, onText, onSave }: EditorOptions): readonly Extension[] {
  const save = (): boolean => {
    onSave()
    return true
  }
  return [
    ...shared(label),
    history(),
    // Tab leaves the editor, so that no keyboard is caught in it.
    keymap.of([
      { key: 'Mod-s', run: save, preventDefault: true },
      ...defaultKeymap,
      ...historyKeymap,
      ...searchKeymap,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onText(update.state.doc.toString())
    }),
  ]
}

class HiddenMark extends WidgetType {
  readonly #run: HiddenRun

  constructor(run: HiddenRun) {
    super()
    this.#run = run
  }

  override eq(other: HiddenMark): boolean {
    return other.#run.characters === this.#run.characters
  }

  override toDOM(): HTMLElement {
    return chipOf(this.#run)
  }
}

const matcher = new MatchDecorator({
  regexp: /[^\n]+/g,
  decorate: (add, from, _to, [line]) => {
    let at = from
    for (const part of partsOf(line)) {
      const end = at + (typeof part === 'string' ? part : part.characters).length
      if (typeof part !== 'string') {
        add(at, end, Decoration.replace({ widget: new HiddenMark(part) }))
      }
      at = end
    }
  },
})

/** Hidden characters as chips. Each run is deleted as any text is. */
const hiddenMarks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet

    constructor(view: EditorView) {
      this.decorations = matcher.createDeco(view)
    }

    update(update: ViewUpdate): void {
      this.decorations = matcher.updateDeco(update, this.decorations)
    }
  },
  { decorations: ({ decorations }) => decorations },
)

const languageData = defineLanguageFacet()

/** As the page renders it. The parser alone: the usual package brings HTML, CSS and JavaScript. */
const markdown = new Language(
  languageData,
  parser.configure([
    GFM,
    { props: [languageDataProp.add((type) => (type.isTop ? languageData : undefined))] },
  ]),
  [],
  'markdown',
)

/** Their colors are in memory.css, for both schemes. */
const highlighter = tagHighlighter([
  { tag: tags.heading, class: 'md-heading' },
  { tag: tags.strong, class: 'md-strong' },
  { tag: tags.emphasis, class: 'md-emphasis' },
  { tag: tags.strikethrough, class: 'md-struck' },
  { tag: [tags.link, tags.url], class: 'md-link' },
  { tag: [tags.monospace, tags.labelName, tags.escape, tags.character], class: 'md-code' },
  { tag: tags.quote, class: 'md-quote' },
  {
    tag: [tags.processingInstruction, tags.contentSeparator, tags.atom, tags.comment],
    class: 'md-mark',
  },
])

function shared(label: string): readonly Extension[] {
  const nonce = document.querySelector('meta[name="style-nonce"]')?.getAttribute('content') ?? ''
  return [
    EditorView.cspNonce.of(nonce),
    // A text that is only read, in a merge, is scrolled with the keyboard too.
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorView.lineWrapping,
    // A text keeps its line endings.
    EditorState.lineSeparator.of('\n'),
    lineNumbers(),
    drawSelection(),
    hiddenMarks,
    markdown.extension,
    syntaxHighlighting(highlighter),
    highlightSelectionMatches(),
  ]
}
