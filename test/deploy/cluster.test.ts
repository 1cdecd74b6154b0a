/** nginx with the replicas of `scripts/deploy/cluster`, before three small servers. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { parseConfig, settings } from '../../src/config.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { networkWords } from '../../src/limits/network-key.ts'
import { runCommand } from '../support/command-line.ts'
import { startNginx } from '../support/edge.ts'
import { startLocalServer } from '../support/local-server.ts'
import { send } from '../support/raw-http.ts'
import { isRunnable } from '../support/runnable.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts servers of the deploy notes')

const folder = 'scripts/deploy/cluster'
const compose = readFileSync(`${folder}/compose.yaml`, 'utf8')
const replicasConf = readFileSync(`${folder}/replicas.conf`, 'utf8')
const packageJson = z.object({
  scripts: z.object({ start: z.string(), builder: z.string() }),
  files: z.array(z.string()),
})
const matchesOf = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found)
const addresses = matchesOf(replicasConf, /^server (\S+):8787;$/gm)
const reads = 'GET /api/v1/health'
const writes = 'POST /api/v1/receipts'

/** A replica answers its number; `breaks` makes it break the connection of a request. */
async function startCluster(breaks: (request: IncomingMessage) => boolean = () => false) {
  const received: string[] = []
  const replicas = await Promise.all(
    addresses.map(async (_, at) => {
      const replica = await startLocalServer((request, response) => {
        received.push(`${at} ${request.method} ${String(request.headers['x-forwarded-for'])}`)
        if (breaks(request)) request.socket.destroy()
        else response.end(String(at))
      })
      return { ...replica, host: new URL(replica.url).host }
    }),
  )
  const servers = replicas.reduce(
    (conf, { host }, at) => conf.replace(`${addresses[at]}:8787`, host),
    replicasConf,
  )
  const balancer = await startNginx({
    servicePort: 1,
    publicDir: '/nowhere',
    changes: [
      ['server 127.0.0.1:1;', servers],
      // As behind a CDN, so that a test can send from any address.
      [
        'access_log off;',
        'access_log off; set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;',
      ],
    ],
  })
  onTestFinished(async () => {
    await balancer.stop()
    for (const { stop } of replicas) await stop().catch(() => undefined)
  })
  received.length = 0
  const ask = async (from: string, what = reads, ...more: string[]): Promise<string> => {
    const lines = [`X-Forwarded-For: ${from}`, 'Content-Length: 0', ...more]
    const { status, body } = await send(balancer.address, what, lines)
    return status === 200 ? body.toString() : String(status)
  }
  return { replicas, received, ask }
}

const ipv4 = Array.from({ length: 60 }, (_, at) => `203.0.113.${at}`)
const ipv6 = Array.from({ length: 60 }, (_, at) => `2001:db8:0:${at.toString(16)}::1`)

describe.skipIf(!isRunnable('nginx'))('the balancer', () => {
  test('the balancer sends all requests of a network to one replica, and uses every replica', async () => {
    const { ask } = await startCluster()
    const used = new Set<string>()
    for (const from of [...ipv4, ...ipv6]) {
      const neighbour = from.replace(/::1$/, ':ffff:0:9:7')
      expect(networkWords(neighbour)).toEqual(networkWords(from))
      const replica = await ask(from)
      for (const what of [reads, writes, 'GET /api/v1/jobs?limit=1', 'GET /search?q=a']) {
        expect([from, what, await ask(neighbour, what)]).toEqual([from, what, replica])
      }
      used.add(replica)
    }
    expect([...used].toSorted()).toEqual(['0', '1', '2'])
  })

  test('the balancer moves only the networks of a replica that is down', async () => {
    const { ask, replicas } = await startCluster()
    const before = await Promise.all(ipv4.map((from) => ask(from)))
    await replicas[1]?.stop()
    for (const [at, from] of ipv4.entries()) {
      const after = await ask(from, at % 2 === 0 ? reads : writes)
      if (before[at] === '1') expect(['0', '2']).toContain(after)
      else expect(after).toBe(before[at])
    }
  })

  test('the balancer repeats a read whose replica breaks the connection, and never a write', async () => {
    const firsts = new Set(['GET', 'POST'])
    const { ask, received } = await startCluster(
      ({ method = '', url }) => url !== '/healthz' && firsts.delete(method),
    )
    expect(await ask('203.0.113.1')).toMatch(/^[012]$/)
    expect(received).toHaveLength(2)
    expect(await ask('203.0.113.2', writes)).toBe('503')
    expect(received.slice(2)).toEqual([expect.stringMatching(/^\d POST 203\.0\.113\.2$/)])
  })

  test('the balancer answers 503 to programs and browsers while no replica is up', async () => {
    const { ask, replicas } = await startCluster()
    for (const { stop } of replicas) await stop()
    const asBrowser = 'Accept: text/html'
    for (const what of [reads, writes, 'GET /', 'GET /api/v1/rails']) {
      expect([what, await ask('203.0.113.1', what)]).toEqual([what, '503'])
      expect([what, await ask('203.0.113.1', what, asBrowser)]).toEqual([what, '503'])
    }
  })
})

test('the balancer knows every service, and the services trust its address alone', () => {
  expect(addresses).toHaveLength(3)
  expect(matchesOf(compose, /ipv4_address: ([\d.]+)/g)).toEqual(addresses)
  const [gateway] = matchesOf(compose, /gateway: ([\d.]+)/g)
  expect(matchesOf(compose, /TRUSTED_PROXIES: (.*)/g)).toEqual([gateway])
})

describe('the compose file', () => {
  const [block = ''] = matchesOf(compose, /^x-settings:.*\n((?: {2}.*\n)+)/gm)
  const [mounts = ''] = matchesOf(compose, /^x-service:[\s\S]*? volumes:\n((?: {4}.*\n)+)/gm)
  const pairs = [...block.matchAll(/^ {2}(\w+): (.*)$/gm)].map(([, name = '', value = '']) => {
    const text = value.replaceAll(/^'|'$/g, '').replace(/^\$\{\w+:-(.*)\}$/, '$1')
    return [name, text] as const
  })
  const examples: Readonly<Record<string, string>> = {
    PUBLISH_URL: 's3://ledger/site?endpoint=https://store.example',
    SITE_URL: 'https://ledger.example',
    'database-url': 'postgres://ledger:password@postgres/ledger',
    's3-access-key-id': 'id',
    's3-secret-access-key': 'secret',
    'smtp-url': 'smtps://ledger:password@mail.example',
    'snapshot-git-remote': 'ssh://git@example/ledger.git',
  }

  test('the compose file sets only settings of the program, which accepts their values', () => {
    const known = entriesOf(settings).flatMap(([name, setting]) =>
      'secret' in setting ? [name, `${name}_FILE`] : [name],
    )
    expect(pairs.length).toBeGreaterThan(10)
    expect(pairs.map(([name]) => name).filter((name) => !known.includes(name))).toEqual([])
    const read: string[] = []
    const config = parseConfig({
      variables: Object.fromEntries(
        pairs.map(([name, value]) => [name, value.startsWith('${') ? examples[name] : value]),
      ),
      readFile: (path) => {
        const name = path.replace('/run/secrets/', '')
        read.push(name)
        return examples[name] ?? ''
      },
    })
    expect(config).toMatchObject({ BUILDER: 'off', KEYS: 'required', LIMITS: 'on', PORT: 8787 })
    const declared = matchesOf(compose, /^ {2}([\w-]+): \{ file: /gm)
    const [given = ''] = matchesOf(compose, /^ {2}secrets:\n((?: {4}- .*\n)+)/gm)
    expect(read.toSorted()).toEqual(matchesOf(given, /- (.*)/g).toSorted())
    expect([...read, 'postgres-password'].toSorted()).toEqual(declared.toSorted())
  })

  test('the compose file mounts the folders of keys that the program reads, which no process can write', async () => {
    const state = mkdtempSync(join(tmpdir(), 'ledger-keys-'))
    onTestFinished(() => rmSync(state, { recursive: true }))
    await runCommand(['admin', 'keys', 'create'], { DATA_DIR: state, PUBLIC_DIR: state })
    const created = readdirSync(state, { withFileTypes: true })
    const folders = created.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    const expected = folders.map((name) => `./state/${name}:/data/${name}:ro`)
    expect(matchesOf(mounts, /- (.*)/g)).toEqual(expected)
    for (const text of matchesOf(compose, /volumes: \[(.*builder-\d.*)\]/g)) {
      expect(text.split(', ').slice(0, -1)).toEqual(expected)
    }
  })
})

test('the image runs the programs of package.json in the folders of the compose file', () => {
  const containerfile = readFileSync(`${folder}/Containerfile`, 'utf8')
  const { scripts, files } = packageJson.parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const commands = [...matchesOf(containerfile, /^CMD \["node", "(.*)"\]/gm)]
  commands.push(...matchesOf(compose, /command: \[node, (.*)\]/g))
  expect(commands).toEqual(['dist/src/main.js', 'dist/builder/main.js'])
  for (const command of commands) {
    expect(`${scripts.start} ${scripts.builder}`).toContain(command)
    expect(files.some((file) => command.startsWith(`${file}/`))).toBe(true)
  }
  expect(containerfile).toContain('DATA_DIR=/data PUBLIC_DIR=/data/public')
  // The context of the build has what package.json packs, and neither keys nor a local database.
  const context = readFileSync(`${folder}/Containerfile.dockerignore`, 'utf8').split('\n')
  const packed = files.filter((file) => !/^(?:dist|!)/.test(file))
  const isInContext = (file: string) =>
    context.some((line) => line.startsWith('!') && `${file}/`.startsWith(`${line.slice(1)}/`))
  expect(packed.filter((file) => !isInContext(file))).toEqual([])
  expect(context).toEqual(expect.arrayContaining(['*', 'data/run']))
})
