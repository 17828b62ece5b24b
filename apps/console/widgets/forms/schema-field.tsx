// The field of one part of a schema, and those within it.
import { useId } from 'react';
import { isSecretName } from '#libs/audit/secret-names.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../button.module.css';
import { widgetStrings } from '../strings.js';
import { isSame, pathOf, type Problems } from './check-value.js';
import { JsonField } from './json-field.js';
import {
  type Choice,
  firstValue,
  isObject,
  type Json,
  type JsonObject,
  kindOf,
  resolved,
  type Schema,
} from './form-schema.js';
import { type FieldFrame, Labelled, type PlainFieldProps } from './labelled.js';
import { NumberField, TextField } from './text-fields.js';
import styles from './schema-form.module.css';

export interface FormContext {
  root: Schema;
  problems: Problems;
  isDisabled: boolean;
}

export interface FieldPlace {
  path: string;
  name: string;
  depth: number;
  isRequired: boolean;
  isSecret: boolean;
}

interface FieldProps {
  context: FormContext;
  place: FieldPlace;
  schema: Schema;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}

export function Field({ context, place, schema: given, value, onChange }: FieldProps) {
  const schema = resolved(given, context.root);
  const kind = kindOf(schema, place.isSecret, place.depth);
  const label = schema.title ?? place.name;
  const frame = {
    label,
    about: schema.description,
    isRequired: place.isRequired,
    problem: context.problems.get(place.path),
  };
  const common = { frame, value, onChange, isDisabled: context.isDisabled };
  switch (kind.kind) {
    case 'text':
    case 'secret':
      return <TextField {...common} schema={schema} isSecret={kind.kind === 'secret'} />;
    case 'number':
    case 'integer':
      return <NumberField {...common} />;
    case 'boolean':
      return <BooleanField {...common} />;
    case 'choice':
      return <ChoiceField {...common} choices={kind.choices} />;
    case 'choices':
      return <ChoicesField {...common} choices={kind.choices} />;
    case 'list':
      return <ListField {...{ context, place, value, onChange, frame }} items={kind.items} />;
    case 'object':
      return <ObjectField {...{ context, place, value, onChange, schema, frame }} properties={kind.properties} />;
    case 'json':
      return (
        <JsonField
          label={label}
          about={schema.description}
          isRequired={place.isRequired}
          problem={frame.problem}
          value={value}
          onChange={onChange}
          isDisabled={context.isDisabled}
        />
      );
  }
}

function BooleanField({ frame, value, onChange, isDisabled }: PlainFieldProps) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={value === true}
          disabled={isDisabled}
          aria-describedby={id}
          onChange={({ target }) => onChange(target.checked)}
        />
        <span className={styles.label}>{frame.label}</span>
      </label>
      <div id={id}>
        {frame.about !== undefined && <p className={styles.about}>{frame.about}</p>}
        {frame.problem !== undefined && <p className={styles.problem}>{frame.problem}</p>}
      </div>
    </div>
  );
}

function ChoiceField(props: PlainFieldProps & { choices: readonly Choice[] }) {
  const { frame, value, onChange, isDisabled, choices } = props;
  const texts = useStrings(widgetStrings);
  const index = choices.findIndex((choice) => isSame(choice.value, value));
  return (
    <Labelled {...frame}>
      {(field) => (
        <select
          {...field}
          className={styles.input}
          disabled={isDisabled}
          value={index}
          onChange={({ target }) => onChange(choices[Number(target.value)]?.value)}
        >
          <option value={-1}>{texts.notSet}</option>
          {choices.map(({ title }, at) => (
            <option key={title} value={at}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

function ChoicesField(props: PlainFieldProps & { choices: readonly Choice[] }) {
  const { frame, value, onChange, isDisabled, choices } = props;
  const chosen = Array.isArray(value) ? value : [];
  const set = ({ value: each }: Choice, isChosen: boolean) =>
    onChange(isChosen ? [...chosen, each] : chosen.filter((other) => !isSame(other, each)));
  return (
    <Group frame={frame}>
      {choices.map((choice) => (
        <label key={choice.title} className={styles.check}>
          <input
            type="checkbox"
            disabled={isDisabled}
            checked={chosen.some((each) => isSame(each, choice.value))}
            onChange={({ target }) => set(choice, target.checked)}
          />
          {choice.title}
        </label>
      ))}
    </Group>
  );
}

interface PartsProps extends Omit<FieldProps, 'schema'> {
  frame: FieldFrame;
}

function ListField({ context, place, frame, value, onChange, items }: PartsProps & { items: Schema }) {
  const texts = useStrings(widgetStrings);
  const entries = Array.isArray(value) ? value : [];
  const add = () => onChange([...entries, firstValue(items, context.root) ?? emptyOf(resolved(items, context.root))]);
  return (
    <Group frame={frame}>
      {entries.map((entry, index) => (
        // Entries have no other name than their place.
        <div key={index} className={styles.entry}>
          <Field
            context={context}
            place={{
              ...place,
              path: pathOf(place.path, index),
              name: texts.entry(index + 1),
              depth: place.depth + 1,
              isRequired: true,
            }}
            schema={items}
            value={entry}
            onChange={(next) => onChange(entries.map((each, at) => (at === index ? (next ?? null) : each)))}
          />
          <button
            type="button"
            className={`${buttons.button} ${buttons.quiet}`}
            disabled={context.isDisabled}
            onClick={() => onChange(entries.filter((_each, at) => at !== index))}
          >
            {texts.remove(texts.entry(index + 1))}
          </button>
        </div>
      ))}
      <button type="button" className={buttons.button} disabled={context.isDisabled} onClick={add}>
        {texts.add}
      </button>
    </Group>
  );
}

const emptyOf = ({ type }: Schema): Json => {
  if (type === 'string') return '';
  if (type === 'array') return [];
  if (type === 'object') return {};
  return type === 'boolean' ? false : null;
};

function ObjectField(props: PartsProps & { schema: Schema; properties: readonly (readonly [string, Schema])[] }) {
  const { context, place, frame, value, onChange, schema, properties } = props;
  const members: JsonObject = isObject(value) ? value : {};
  const required = new Set(schema.required ?? []);
  const set = (name: string, next: Json | undefined) => {
    const { [name]: _before, ...rest } = members;
    const after = next === undefined ? rest : { ...members, [name]: next };
    // An object that may be missing is left out again when nothing of it is left.
    onChange(!place.isRequired && Object.keys(after).length === 0 ? undefined : after);
  };
  const fields = properties.map(([name, member]) => (
    <Field
      key={name}
      context={context}
      place={{
        path: pathOf(place.path, name),
        name,
        depth: place.depth + 1,
        isRequired: required.has(name),
        isSecret: isSecretName(name),
      }}
      schema={member}
      value={members[name]}
      onChange={(next) => set(name, next)}
    />
  ));
  return place.depth === 0 ? <div className={styles.fields}>{fields}</div> : <Group frame={frame}>{fields}</Group>;
}

function Group({ frame, children }: { frame: FieldFrame; children: React.ReactNode }) {
  const texts = useStrings(widgetStrings);
  return (
    <fieldset className={styles.group}>
      <legend className={styles.label}>
        {frame.label}
        {frame.isRequired && <span className={styles.required}> {texts.required}</span>}
      </legend>
      {frame.about !== undefined && <p className={styles.about}>{frame.about}</p>}
      <div className={styles.fields}>{children}</div>
      {frame.problem !== undefined && <p className={styles.problem}>{frame.problem}</p>}
    </fieldset>
  );
}
