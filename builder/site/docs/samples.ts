/** Requests of one endpoint as code. The TypeScript is also JavaScript. */
import type { Route } from '../../../src/contract/route.ts'
import type { CodeSample } from '../../../src/pages/code-tabs.ts'

/** The path with the examples of its parameters; a parameter without an example is shown as its name in capitals. */
export function examplePath({ path, params = {} }: Pick<Route, 'params' | 'path'>): string {
  return path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => params[name]?.example ?? name.toUpperCase(),
  )
}

export function curlLine(route: Route, siteUrl: string): string {
  const { method, access, body } = route
  const parts = [
    `curl -sS${method === 'GET' || (method === 'POST' && body) ? '' : ` -X ${method}`} ${siteUrl}${examplePath(route)}`,
    ...(access === 'partner'
      ? ['-H "Authorization: Bearer $WALLET:$SIGNATURE"', '-H "X-Partner-Timestamp: $TIMESTAMP"']
      : []),
    ...(body ? ["-H 'Content-Type: application/json'", '-d @body.json'] : []),
  ]
  return parts.join(' \\\n  ')
}

export function requestSamples(route: Route, siteUrl: string): readonly CodeSample[] {
  return [
    { language: 'sh', text: curlLine(route, siteUrl) },
    { language: 'ts', text: typeScript(route, siteUrl) },
    { language: 'py', text: python(route, siteUrl) },
  ]
}

function isJson({ answers }: Route): boolean {
  const first = answers[200] ?? answers[202]
  return first?.contentType?.startsWith('application/json') ?? first?.schema !== undefined
}

function typeScript(route: Route, siteUrl: string): string {
  const { method, access, body } = route
  const headers = [
    ...(access === 'partner'
      ? ['Authorization: `Bearer ${WALLET}:${SIGNATURE}`', "'X-Partner-Timestamp': TIMESTAMP"]
      : []),
    ...(body ? ["'Content-Type': 'application/json'"] : []),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0
      ? []
      : ['  headers: {', ...headers.map((line) => `    ${line},`), '  },']),
    ...(body ? ["  body: await readFile('body.json'),"] : []),
  ]
  const url = `'${siteUrl}${examplePath(route)}'`
  return [
    ...(body ? ["import { readFile } from 'node:fs/promises'", ''] : []),
    ...(access === 'partner' ? ['const { WALLET, SIGNATURE, TIMESTAMP } = process.env'] : []),
    ...(options.length === 0
      ? [`const response = await fetch(${url})`]
      : [`const response = await fetch(${url}, {`, ...options, '})']),
    `console.log(response.status, await response.${isJson(route) ? 'json' : 'text'}())`,
  ].join('\n')
}

function python(route: Route, siteUrl: string): string {
  const { method, access, body } = route
  const headers = [
    ...(access === 'partner'
      ? [
          '"Authorization": f"Bearer {env[\'WALLET\']}:{env[\'SIGNATURE\']}"',
          '"X-Partner-Timestamp": env["TIMESTAMP"]',
        ]
      : []),
    ...(body ? ['"Content-Type": "application/json"'] : []),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    ...(headers.length === 0
      ? []
      : ['    headers={', ...headers.map((line) => `        ${line},`), '    },']),
    ...(body ? ['    data=open("body.json", "rb").read(),'] : []),
  ]
  const url = `"${siteUrl}${examplePath(route)}"`
  return [
    ...(isJson(route) ? ['import json'] : []),
    ...(access === 'partner' ? ['from os import environ as env'] : []),
    `from urllib.request import ${options.length === 0 ? '' : 'Request, '}urlopen`,
    '',
    ...(options.length === 0
      ? [`with urlopen(${url}) as response:`]
      : [
          'request = Request(',
          `    ${url},`,
          ...options,
          ')',
          'with urlopen(request) as response:',
        ]),
    `    print(response.status, ${isJson(route) ? 'json.load(response)' : 'response.read().decode()'})`,
  ].join('\n')
}
