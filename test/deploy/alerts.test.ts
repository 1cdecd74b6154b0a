import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

import { describe, expect, test } from 'vitest'

import { metricSpecs } from '../../src/metrics/catalogue.ts'
import { isRunnable } from '../support/runnable.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts servers of the deploy notes')

const rules = readFileSync('scripts/deploy/alerts.yml', 'utf8')
const runbook = readFileSync('scripts/deploy/operating.md', 'utf8')

interface Rule {
  readonly name: string
  readonly expression: string
  readonly severity: string | undefined
}

/** The rules, parsed by their layout: `- alert:` starts a rule, its members follow. */
const found: readonly Rule[] = rules
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({
    name: /^\w+/.exec(text)?.[0] ?? '',
    expression: /^ {8}expr: (?:>-\n)?([\s\S]*?)\n {8}(?:for|labels):/m.exec(text)?.[1] ?? '',
    severity: /severity: (\w+)/.exec(text)?.[1],
  }))

/** Names of the series in an expression, outside of quotes and selectors. */
function seriesOf(expression: string): readonly string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '').replaceAll(/\{[^}]*\}/g, '')
  return bare.match(/\b(?:ledger|process|nodejs)_\w+/g) ?? []
}

describe('the alerts', () => {
  test('alerts use metrics that exist', () => {
    expect(found.length).toBeGreaterThan(15)
    for (const { name, expression } of found) {
      const series = seriesOf(expression)
      const families = series.map((one) => one.replace(/_(?:bucket|sum|count)$/, ''))
      const unknown = families.filter((family) => metricSpecs[family] === undefined)
      expect({ name, unknown }).toEqual({ name, unknown: [] })
      expect({ name, isAboutSomething: series.length > 0 || expression.includes('up{') }).toEqual({
        name,
        isAboutSomething: true,
      })
    }
  })

  test('alerts select by labels that exist', () => {
    for (const { name, expression } of found) {
      for (const [, series = '', labels = ''] of expression.matchAll(/(\w+)\{([^}]*)\}/g)) {
        const known: readonly string[] = metricSpecs[series]?.labels ?? []
        const used = [...labels.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label)
        // Prometheus itself adds `job` and `instance`.
        const unknown = used.filter((label) => label !== 'job' && !known.includes(label))
        expect({ name, unknown }).toEqual({ name, unknown: [] })
      }
    }
  })

  test('alerts do not rely on the labels `job` and `instance`, which Prometheus sets itself', () => {
    for (const [name, { labels }] of Object.entries(metricSpecs)) {
      const taken = labels.filter((label) => ['job', 'instance'].includes(label))
      expect({ name, taken }).toEqual({ name, taken: [] })
    }
    expect(rules).not.toMatch(/\bjob(?!="ledger")(?:=|!=|=~|!~)"/)
  })

  test('each alert has a severity and an entry in the runbook', () => {
    for (const { name, severity } of found) {
      expect({ name, isKnown: severity === 'page' || severity === 'ticket' }).toEqual({
        name,
        isKnown: true,
      })
      const [, section = ''] = runbook.split(new RegExp(`^### ${name}$`, 'm'))
      const text = section.split(/^##/m)[0] ?? ''
      expect({ name, isSaid: text.trim().length > 80 }).toEqual({ name, isSaid: true })
    }
    const [, chapter = ''] = runbook.split(/^## Alerts$/m)
    const headings = [...(chapter.split(/^## /m)[0] ?? '').matchAll(/^### (\w+)$/gm)]
    expect(headings.map(([, name]) => name)).toEqual(found.map(({ name }) => name))
  })

  test('each alert has a test in which it fires and one in which it does not', () => {
    const tries = readFileSync('test/deploy/alerts.yml', 'utf8')
    const expected = [...tries.matchAll(/alertname: (\w+)\n +exp_alerts:( \[\])?$/gm)]
    for (const how of [' []', undefined]) {
      const tried = new Set(expected.filter(([, , none]) => none === how).map(([, name]) => name))
      expect(found.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([])
    }
  })

  test.skipIf(!isRunnable('promtool'))('alerts are valid for promtool and pass its tests', () => {
    const promtool = (...args: readonly string[]): string => {
      const { stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
      return `${stdout}${stderr}`
    }
    const file = 'scripts/deploy/alerts.yml'
    expect(promtool('check', 'rules', file)).toContain(`${found.length} rules found`)
    expect(promtool('test', 'rules', 'test/deploy/alerts.yml')).toMatch(/^ *SUCCESS$/m)
  })
})
