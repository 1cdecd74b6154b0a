import recorded from './examples.json' with { type: 'json' }

interface RecordedCall {
  readonly body?: object
  /** By status. */
  readonly answers: Readonly<Record<string, object>>
}

/** Calls by operationId, with long lists cut. The test of the demo ledger records them. */
const examples: Readonly<Record<string, RecordedCall>> = recorded

export function bodyExample(id: string): object | undefined {
  return examples[id]?.body
}

/** A repeat has the example of the first answer. */
export function answerExample(id: string, status: number): object | undefined {
  const { answers = {} } = examples[id] ?? {}
  return answers[status] ?? (status < 300 ? Object.values(answers)[0] : undefined)
}
