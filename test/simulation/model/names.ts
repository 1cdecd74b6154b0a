import type { State } from './state.ts'

export function rename(
  state: State,
  named: {
    readonly kind: string
    readonly wallet: string
    readonly looks: string | null
    readonly nowMs: number
  },
): void {
  const { kind, wallet, looks, nowMs } = named
  const at = `${kind} ${wallet}`
  if (looks === null) state.names.delete(at)
  else if (state.names.get(at)?.looks !== looks) {
    state.names.set(at, { wallet, looks, sinceMs: nowMs })
  }
}
