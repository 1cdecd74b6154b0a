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
