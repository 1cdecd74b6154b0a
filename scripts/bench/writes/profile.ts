/**
 * Where the event loop of the service spends its time on a receipt: the load of the suite `writes` under `--cpu-prof`,
 * self time by part. `node dist/scripts/bench/writes/profile.js` after `npm run tools`.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { z } from 'zod'

import { startSteps } from '../processes.ts'
import { startWriteService } from './service.ts'

const [warm, count, connections] = [4000, 12_000, 64]

/** The first that fits a frame, by its file or, where it has none, by its function. */
const parts = [
  ['garbage collection', /^\(garbage collector\)$/],
  ['waiting', /^\(idle\)$/],
  [
    'messages to the threads of the checks',
    /\/src\/auth\/check-thread|internal\/worker|^postMessage$/,
  ],
  ['statements handed to SQLite, rows', /\/src\/db\/|\/kysely\//],
  ['deciding on receipts', /\/src\/actions\//],
  ['schema of the body', /\/zod\/|\/src\/contract\//],
  ['JSON, wallets, times', /\/src\/(?:core|auth)\//],
  ['digests', /internal\/crypto|\/src\/secret/],
  ['writing to sockets', /^writev$|^writeLatin1String$|^writeBuffer$|^writeUtf8String$/],
  ['handlers and door', /\/src\//],
  ['framework', /\/hono\/|node-server/],
  ['HTTP and streams of Node', /^node:/],
  ['the rest of the engine', /^/],
] as const

const profileModel = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
})

const dir = mkdtempSync(join(tmpdir(), 'bench-profile-'))
try {
  const profiles = join(dir, 'profiles')
  const profiling = ['--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${profiles}`]
  const service = await startWriteService(dir, { BUILDER: 'off' }, profiling)
  const script = new URL('load-worker.js', import.meta.url)
  const sizes = [warm, count, connections].map(String)
  const load = await startSteps(script, [service.origin, 'profile', ...sizes])
  for (const word of ['signed', 'warm']) {
    await load.until(word)
    load.next()
  }
  await load.result()
  await service.stop()
  // One for each thread: the event loop's has the most samples.
  const [largest = ''] = readdirSync(profiles)
    .map((name) => join(profiles, name))
    .toSorted((a, b) => statSync(b).size - statSync(a).size)
  process.stdout.write(tableOf(profileModel.parse(JSON.parse(readFileSync(largest, 'utf8')))))
} finally {
  rmSync(dir, { recursive: true, force: true })
}

function tableOf({ nodes, samples, timeDeltas }: z.infer<typeof profileModel>): string {
  const partOf = new Map(
    nodes.map(({ id, callFrame: { functionName, url } }) => [
      id,
      parts.find(([, fits]) => fits.test(url === '' ? functionName : url))?.[0] ?? '',
    ]),
  )
  const spentUs = new Map<string, number>(parts.map(([part]) => [part, 0]))
  for (const [at, id] of samples.entries()) {
    const part = partOf.get(id) ?? ''
    spentUs.set(part, (spentUs.get(part) ?? 0) + (timeDeltas[at] ?? 0))
  }
  const idleUs = spentUs.get('waiting') ?? 0
  spentUs.delete('waiting')
  const busyUs = [...spentUs.values()].reduce((sum, us) => sum + us, 0)
  const rows = [...spentUs]
    .toSorted(([, a], [, b]) => b - a)
    .map(([part, us]) => `| ${part} | ${perReceipt(us)} | ${Math.round((us / busyUs) * 100)} % |`)
  const head = '| part | us/receipt | share |\n| --- | --- | --- |'
  return `${head}\n${rows.join('\n')}\n\nbusy ${perReceipt(busyUs)} us/receipt, waiting ${perReceipt(idleUs)}\n`
}

function perReceipt(us: number): number {
  return Math.round(us / (warm + count))
}
