// The native side of an iPhone, for libraries that run here without one: each name of each package.
const stored = new Map();
const nothing = () => {};
const listener = { remove: nothing };

const Platform = {
  OS: "ios", Version: "18.2", isPad: false, isTV: false, constants: { systemName: "iOS", osVersion: "18.2" },
  select: (by) => by.ios ?? by.native ?? by.default,
};
const Dimensions = { get: () => ({ width: 393, height: 852, scale: 3 }), addEventListener: () => listener };
const locale = { AppleLocale: "en_GB", AppleLanguages: ["en-GB"] };
const all = {
  Platform, Dimensions,
  AppState: { currentState: "active", addEventListener: () => listener },
  Linking: { getInitialURL: async () => null, addEventListener: () => listener },
  NativeModules: {
    SettingsManager: { settings: locale },
    AnalyticsReactNative: {
      getContextInfo: async () => ({
        appName: "Shop", appVersion: "2.3.0", buildNumber: "45", bundleId: "com.example.shop", locale: "en-GB", networkType: "wifi",
        osName: "iOS", osVersion: "18.2", screenHeight: 852, screenWidth: 393, timezone: "UTC", manufacturer: "Apple", model: "iPhone17,3",
        deviceName: "iPhone", deviceId: "unit-1", deviceType: "ios",
      }),
    },
  },
  NativeEventEmitter: class { addListener() { return listener; } },
  TurboModuleRegistry: { get: () => null, getEnforcing: () => null },
  StyleSheet: { create: (styles) => styles, absoluteFill: {} },
  PixelRatio: { get: () => 3 }, Keyboard: {}, Animated: {}, PanResponder: {}, UIManager: {}, I18nManager: {},
  View: "View", Text: "Text", Modal: "Modal", Pressable: "Pressable",
  requireNativeModule: () => { throw new Error("not an Expo application"); },

  getItem: async (key) => stored.get(key) ?? null,
  setItem: async (key, value) => { stored.set(key, value); },
  removeItem: async (key) => { stored.delete(key); },
  getAllKeys: async () => [...stored.keys()],
  multiRemove: async (keys) => { keys.forEach((key) => stored.delete(key)); },

  fetch: async () => ({ isConnected: true, isInternetReachable: true, type: "wifi" }),
  addEventListener: () => nothing,

  getVersion: () => "2.3.0", getBuildNumber: () => "45", getBundleId: () => "com.example.shop", getModel: () => "iPhone 16",
  getManufacturer: async () => "Apple", getSystemVersion: () => "18.2", getSystemName: () => "iOS",
  getApplicationName: () => "Shop", getDeviceId: () => "iPhone17,3", getUniqueId: async () => "unit-1", getBrand: () => "Apple",
  getCarrier: async () => "Carrier", isEmulator: async () => false, isTablet: () => false, getManufacturerSync: () => "Apple", isEmulatorSync: () => false, getDeviceType: () => "Handset",
};
module.exports = Object.assign(all, { default: all, __esModule: true });
