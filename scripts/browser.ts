/** What pages run in the browser with the code of the ledger; bundled as `/assets/rules.js`. */
export { tryRules } from '../builder/rails/try-rules.ts'
export { tryReputation } from '../src/core/reputation/try.ts'
export { verifyInLog } from '../src/client/log-subject.ts'
