/** Rows of the report compare a figure of this project with a figure of a peer from the same rounds. */
import { median } from '../../src/core/median.ts'
import { valuesOf } from './samples.ts'
import type { Sample } from './samples.ts'

/** Figures are named `<contestant>.<figure>`. */
interface RowSpec {
  readonly what: string
  readonly unit: string
  readonly ours: string
  readonly peer: string
  readonly target: Target | null
}

export interface BenchRow extends RowSpec {
  readonly medians: { readonly ours: number; readonly peer: number }
  /** Our figure divided by that of the peer, per round. */
  readonly ratio: { readonly median: number; readonly min: number; readonly max: number }
  readonly rounds: number
  /** Null without a target. */
  readonly met: boolean | null
}

/** The bound for the ratio of both figures, or for our figure alone in the unit of the row. */
export interface Target {
  readonly of: 'ratio' | 'ours'
  readonly bound: 'at least' | 'at most'
  readonly value: number
}

export function ratioAtLeast(value: number): Target {
  return { of: 'ratio', bound: 'at least', value }
}

export function ratioAtMost(value: number): Target {
  return { of: 'ratio', bound: 'at most', value }
}

export function atMost(value: number): Target {
  return { of: 'ours', bound: 'at most', value }
}

export function atLeast(value: number): Target {
  return { of: 'ours', bound: 'at least', value }
}

export function row(
  what: string,
  unit: string,
  ours: string,
  peer: string,
  target: Target | null = null,
): RowSpec {
  return { what, unit, ours, peer, target }
}

export function rowsOf(samples: readonly Sample[], specs: readonly RowSpec[]): BenchRow[] {
  return specs.map((spec) => {
    const [ours, peer] = [valuesOf(samples, spec.ours), valuesOf(samples, spec.peer)]
    const ratios = ours.map((value, round) => value / (peer[round] ?? NaN))
    const medians = { ours: median(ours), peer: median(peer) }
    const ratio = { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) }
    const measured = spec.target?.of === 'ours' ? medians.ours : ratio.median
    const met = spec.target === null ? null : isMet(spec.target, measured)
    return { ...spec, medians, ratio, rounds: samples.length, met }
  })
}

function isMet({ bound, value }: Target, measured: number): boolean {
  return bound === 'at least' ? measured >= value : measured <= value
}
