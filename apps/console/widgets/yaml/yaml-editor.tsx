// A text of YAML with its mistakes in place. CodeMirror writes its styles into the page, which the content policy forbids, so it lives in a
// shadow root, where it adopts them as style sheets. Loaded when it is needed.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { defaultHighlightStyle, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import type { TextProblem } from '@signalbox/client';
import { useEffect, useRef } from 'react';
import styles from './yaml-editor.module.css';

export interface YamlEditorProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  problems: readonly TextProblem[];
}

const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--raised)', fontSize: 'var(--text-m)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', maxHeight: '60dvh', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)', minHeight: '240px' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { color: 'var(--ink-soft)', backgroundColor: 'var(--sunken)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'transparent', boxShadow: 'inset 2px 0 var(--accent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--chosen)',
  },
  '.cm-tooltip': { color: 'var(--ink)', backgroundColor: 'var(--raised)', border: '1px solid var(--line)' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
});

/** The colours of the page in place of those for white paper. */
const colours = HighlightStyle.define(
  defaultHighlightStyle.specs.map((spec) => ({
    ...spec,
    color: 'var(--ink)',
    textDecoration: 'none',
  })),
);

export default function YamlEditor({ label, value, onChange, problems }: YamlEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const report = useRef(onChange);
  useEffect(() => {
    report.current = onChange;
  });
  useEffect(() => {
    const root = place.current!.shadowRoot ?? place.current!.attachShadow({ mode: 'open' });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          yaml(),
          syntaxHighlighting(colours),
          lintGutter(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) report.current(update.state.doc.toString());
          }),
          look,
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
    // Another value is put in below, another language makes another editor.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [label]);
  useEffect(() => {
    const { current: editor } = view;
    if (editor === undefined || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    const { current: editor } = view;
    if (editor === undefined) return;
    const found = problems.map((problem) => diagnosticOf(editor.state, problem));
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [problems, label]);
  // Focus within the shadow root would look like focus of what is around the editor.
  return <div ref={place} className={styles.place} onFocus={(event) => event.stopPropagation()} />;
}

function diagnosticOf({ doc }: EditorState, { message, key, line = 1, column = 1 }: TextProblem): Diagnostic {
  const at = doc.line(Math.max(1, Math.min(line, doc.lines)));
  const from = Math.min(at.from + column - 1, at.to);
  return { from, to: at.to, severity: 'error', message: key === undefined ? message : `${key}: ${message}` };
}
