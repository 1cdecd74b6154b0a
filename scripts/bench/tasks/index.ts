/** Scripts that are measured in a fresh process. Each script loads only the modules that it runs. */
export const tasks = {
  build: () => import('./build.ts'),
  'check-signatures': () => import('./check-signatures.ts'),
  copy: () => import('./copy.ts'),
  'draw-with-sharp': () => import('./draw-with-sharp.ts'),
  'post-receipts': () => import('./post-receipts.ts'),
} as const

export type TaskName = keyof typeof tasks
export type TaskArguments<Name extends TaskName> = Parameters<
  Awaited<ReturnType<(typeof tasks)[Name]>>['run']
>
