/** Requests of one endpoint as code. The TypeScript is also JavaScript. */
import type { Route } from '../../../src/contract/route.ts'
import { emptyBody } from '../../../src/contract/schemas/job.ts'
import type { CodeSample } from '../../../src/pages/code-tabs.ts'

/** The path with the examples of its parameters; a parameter without an example is shown as its name in capitals. */
export function examplePath({ path, params = {} }: Pick<Route, 'params' | 'path'>): string {
  return path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => params[name]?.example ?? name.toUpperCase(),
  )
}

export function needsBody({ body }: Route): boolean {
  return body !== undefined && body !== emptyBody
}

export function curlLine(route: Route, siteUrl: string): string {
  const { method, access } = route
  const body = needsBody(route)
  const isDefault = method === 'GET' || (method === 'POST' && body)
  const isPartner = access === 'partner'
  return [
    `curl -sS${isDefault ? '' : ` -X ${method}`} ${siteUrl}${examplePath(route)}`,
    isPartner && '-H "Authorization: Bearer $WALLET:$SIGNATURE"',
    isPartner && '-H "X-Partner-Timestamp: $TIMESTAMP"',
    body && "-H 'Content-Type: application/json'",
    body && '--data-binary @body.json',
    isFile(route) && `-o ${fileName(route)}`,
  ]
    .filter((part) => typeof part === 'string')
    .join(' \\\n  ')
}

export function requestSamples(route: Route, siteUrl: string): readonly CodeSample[] {
  return [
    { language: 'sh', text: curlLine(route, siteUrl) },
    { language: 'ts', text: typeScript(route, siteUrl) },
    { language: 'py', text: python(route, siteUrl) },
  ]
}

/** Joins those lines that this request needs. */
function lines(...parts: readonly unknown[]): string {
  return parts.filter((part) => typeof part === 'string').join('\n')
}

function isJson({ answers }: Route): boolean {
  const first = answers[200] ?? answers[202]
  return first?.contentType?.startsWith('application/json') ?? first?.schema !== undefined
}

/** True for an answer that is neither JSON nor text. */
function isFile({ answers }: Route): boolean {
  return /^application\/(?:octet-stream|vnd\.)/.test(answers[200]?.contentType ?? '')
}

function fileName(route: Route): string {
  return examplePath(route).split('/').at(-1) ?? ''
}

function typeScript(route: Route, siteUrl: string): string {
  const { method, access } = route
  const body = needsBody(route)
  const isPartner = access === 'partner'
  const hasHeaders = isPartner || body
  const isPlain = method === 'GET' && !hasHeaders
  const url = `'${siteUrl}${examplePath(route)}'`
  return lines(
    body && "import { readFile } from 'node:fs/promises'\n",
    isFile(route) && "import { writeFile } from 'node:fs/promises'\n",
    isPartner && 'const { WALLET, SIGNATURE, TIMESTAMP } = process.env',
    `const response = await fetch(${url}${isPlain ? ')' : ', {'}`,
    method !== 'GET' && `  method: '${method}',`,
    hasHeaders && '  headers: {',
    isPartner && '    Authorization: `Bearer ${WALLET}:${SIGNATURE}`,',
    isPartner && "    'X-Partner-Timestamp': TIMESTAMP,",
    body && "    'Content-Type': 'application/json',",
    hasHeaders && '  },',
    body && "  body: await readFile('body.json'),",
    !isPlain && '})',
    isFile(route)
      ? `await writeFile('${fileName(route)}', Buffer.from(await response.arrayBuffer()))`
      : `console.log(response.status, await response.${isJson(route) ? 'json' : 'text'}())`,
  )
}

function python(route: Route, siteUrl: string): string {
  const { method, access } = route
  const body = needsBody(route)
  const isPartner = access === 'partner'
  const hasHeaders = isPartner || body
  const isPlain = method === 'GET' && !hasHeaders
  const url = `"${siteUrl}${examplePath(route)}"`
  return lines(
    isJson(route) && 'import json',
    isPartner && 'from os import environ as env',
    `from urllib.request import ${isPlain ? '' : 'Request, '}urlopen\n`,
    !isPlain && `request = Request(\n    ${url},`,
    method !== 'GET' && `    method="${method}",`,
    hasHeaders && '    headers={',
    isPartner && '        "Authorization": f"Bearer {env[\'WALLET\']}:{env[\'SIGNATURE\']}",',
    isPartner && '        "X-Partner-Timestamp": env["TIMESTAMP"],',
    body && '        "Content-Type": "application/json",',
    hasHeaders && '    },',
    body && '    data=open("body.json", "rb").read(),',
    !isPlain && ')',
    `with urlopen(${isPlain ? url : 'request'}) as response:`,
    isFile(route)
      ? `    open("${fileName(route)}", "wb").write(response.read())`
      : `    print(response.status, ${isJson(route) ? 'json.load(response)' : 'response.read().decode()'})`,
  )
}
