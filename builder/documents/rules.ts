/** `/rules/status.json`: the rules, thresholds and flags, from the tables that the code uses. */
import type { StatusRules } from '../../src/contract/schemas/rail.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { flagTexts } from '../../src/core/flags/index.ts'
import { lastRule, statusRules, statusRulesVersion } from '../../src/core/rules/status.ts'
import { ruleThresholds } from '../../src/core/rules/thresholds.ts'
import { jsonDocument, snapshotFamily } from './document.ts'

export const ruleDocuments = snapshotFamily(['site'], function* ({ site }) {
  yield jsonDocument('getStatusRules', statusRulesView(`${site.url}/docs/rules`))
})

function statusRulesView(docs: string): StatusRules {
  return {
    version: statusRulesVersion,
    window_days: 30,
    rules: [...statusRules, lastRule].map(({ id, status, text, threshold, ifUnknown }) => ({
      rule: id,
      status,
      text,
      threshold,
      if_unknown: ifUnknown,
    })),
    thresholds: entriesOf(ruleThresholds).map(([name, [value, text]]) => ({ name, value, text })),
    flags: flagTexts.map(([kind, text]) => ({ kind, text })),
    docs,
  }
}
