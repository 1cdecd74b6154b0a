export type OpenApiJson =
  | string
  | number
  | boolean
  | null
  | OpenApiJson[]
  | { [key: string]: OpenApiJson }
export interface OpenApiObject {
  [key: string]: OpenApiJson
}

export function isObject(value: OpenApiJson | undefined): value is OpenApiObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
