//! Creates and updates asset records from requests: pure functions, one item at a time.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::assets::asset::{Asset, CreateAssetRequest, UpdateAssetRequest};
use crate::model::assets::identity::AssetIdentification;
use crate::model::assets::parts::{
    AssetLocation, AssetLocationForCreate, AssetLocationForUpdate, AssetPresenceStatus,
    AssetPresenceUpdate, AssetPresenceWithSystemConnection, ExternalCalibration, SelfCalibration,
    TemperatureSensor,
};
use crate::model::resource::declare::check_property_keys;
use crate::value::{Stored as _, limits};

fn check_count(what: &str, member: &str, count: Option<usize>) -> Result<()> {
    match count {
        Some(count) if count > limits::ASSET_COLLECTION => Err(Error::limit(format!(
            "the asset has {count} {what}, more than the {} that it may have",
            limits::ASSET_COLLECTION
        ))
        .at_member(member)),
        _ => Ok(()),
    }
}

fn required<T>(value: Option<&T>, member: &str) -> Result<()> {
    match value {
        Some(_) => Ok(()),
        None => Err(Error::invalid(format!("{member} is required")).at_member(member)),
    }
}

fn check_sensors(sensors: Option<&Vec<TemperatureSensor>>, member: &str) -> Result<()> {
    check_count("temperature sensors", member, sensors.map(Vec::len))?;
    sensors.into_iter().flatten().try_for_each(|sensor| match sensor.reading {
        Some(reading) if reading.is_finite() => Ok(()),
        _ => Err(Error::invalid("a temperature sensor needs a reading that is a number")
            .at_member(member)),
    })
}

fn check_self_calibration(calibration: &SelfCalibration) -> Result<()> {
    check_sensors(calibration.temperature_sensors.as_ref(), "selfCalibration.temperatureSensors")?;
    required(calibration.date.as_ref(), "selfCalibration.date")
}

fn check_external_calibration(calibration: &ExternalCalibration) -> Result<()> {
    check_sensors(
        calibration.temperature_sensors.as_ref(),
        "externalCalibration.temperatureSensors",
    )?;
    required(calibration.date.as_ref(), "externalCalibration.date")?;
    required(calibration.recommended_interval.as_ref(), "externalCalibration.recommendedInterval")?;
    required(calibration.next_recommended_date.as_ref(), "externalCalibration.nextRecommendedDate")
}

impl From<AssetLocationForCreate> for AssetLocation {
    fn from(mut location: AssetLocationForCreate) -> Self {
        let state = location.state.take().map(|state| AssetPresenceWithSystemConnection {
            asset_presence: state.asset_presence,
            system_connection: None,
        });
        Self { state, ..location.into_record() }
    }
}

impl Asset {
    /// The record of a create request, without an id. The caller must still check that its identity
    /// is free.
    ///
    /// # Errors
    /// `InvalidArgument` if the identity is incomplete, the location or its presence is missing, or
    /// a calibration lacks a required member; `LimitExceeded` if a collection is too large.
    pub(crate) fn create(
        mut request: CreateAssetRequest,
        now: DateTime<Utc>,
        default_workspace: &str,
    ) -> Result<Self> {
        let location = request
            .location
            .take()
            .filter(|location| {
                location.state.as_ref().is_some_and(|state| state.asset_presence.is_some())
            })
            .ok_or_else(|| {
                Error::invalid("an asset needs a location with a presence")
                    .at_member("location.state.assetPresence")
            })?;
        let mut asset = request.into_record();
        asset.bus_type.get_or_insert_default();
        asset.asset_type.get_or_insert_default();
        asset.discovery_type.get_or_insert_default();
        asset.location = Some(location.into());
        asset.workspace.get_or_insert_with(|| default_workspace.to_owned());
        asset.last_updated_timestamp = Some(now);
        asset.settle();
        asset.force_flags();
        asset.check()?;
        asset.identity()?;
        Ok(asset.without_computed())
    }

    fn force_flags(&mut self) {
        if self.self_calibration.is_some() {
            self.supports_self_calibration = Some(true);
        }
        if self.external_calibration.is_some() {
            self.supports_external_calibration = Some(true);
        }
    }

    fn check(&self) -> Result<()> {
        check_sensors(self.temperature_sensors.as_ref(), "temperatureSensors")?;
        check_count("properties", "properties", self.properties.as_ref().map(BTreeMap::len))?;
        check_property_keys(self.properties.as_ref())?;
        check_count("keywords", "keywords", self.keywords.as_ref().map(Vec::len))?;
        check_count("files", "fileIds", self.file_ids.as_ref().map(Vec::len))?;
        self.self_calibration.as_ref().map_or(Ok(()), check_self_calibration)?;
        self.external_calibration.as_ref().map_or(Ok(()), check_external_calibration)?;
        if self.custom_calibration_interval.is_some_and(|months| months < 0) {
            return Err(Error::invalid(
                "the custom calibration interval is negative; send 0 or more months",
            )
            .at_member("customCalibrationInterval"));
        }
        Ok(())
    }

    /// Applies an update request. Members of the identity are ignored, absent members keep their
    /// values.
    ///
    /// # Errors
    /// As [`Asset::create`], and `Conflict` if the request sets the asset to not present in a place
    /// that it is not in.
    pub(crate) fn update(
        &mut self,
        mut request: UpdateAssetRequest,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let (calibration, location) =
            (request.external_calibration.take(), request.location.take());
        let is_out = request.out_for_calibration.take();
        if request.supports_external_calibration == Some(false) {
            self.external_calibration = None;
        }
        request.apply_to(self);
        if let Some(calibration) = calibration {
            let before =
                self.external_calibration.as_ref().and_then(|calibration| calibration.date);
            if calibration.date > before && self.out_for_calibration.is_some() {
                self.out_for_calibration = Some(false);
            }
            self.external_calibration = Some(calibration);
        }
        // A value in the request takes precedence over the one that follows from the calibration.
        self.out_for_calibration = is_out.or(self.out_for_calibration);
        if let Some(location) = location {
            self.move_to(location)?;
        }
        self.settle();
        self.force_flags();
        self.check()?;
        self.touch(now);
        Ok(())
    }

    /// Sets the time of the last change. It never goes backwards, even if the clock does.
    pub(crate) fn touch(&mut self, now: DateTime<Utc>) {
        self.last_updated_timestamp = self.last_updated_timestamp.max(Some(now));
    }

    fn move_to(&mut self, new: AssetLocationForUpdate) -> Result<()> {
        let presence = new.state.and_then(|state| state.asset_presence);
        let place = self.location.get_or_insert_default();
        let differs = |new: &Option<String>, old: &Option<String>| new.is_some() && new != old;
        if presence == Some(AssetPresenceUpdate::NotPresent)
            && (differs(&new.minion_id, &place.minion_id)
                || differs(&new.parent, &place.parent)
                || (new.slot_number.is_some() && new.slot_number != place.slot_number))
        {
            return Err(Error::conflict(
                "the asset is not at the location that the update removes it from; its location is \
                 unchanged",
            )
            .at_member("location"));
        }
        let leaves_system = new.minion_id.is_none() && new.physical_location.is_some();
        if leaves_system || differs(&new.minion_id, &place.minion_id) {
            let state = place.state.take().map(|state| AssetPresenceWithSystemConnection {
                system_connection: None,
                ..state
            });
            *place = AssetLocation { state, ..AssetLocation::default() };
        }
        for (target, value) in [
            (&mut place.minion_id, new.minion_id),
            (&mut place.physical_location, new.physical_location),
            (&mut place.parent, new.parent),
            (&mut place.resource_uri, new.resource_uri),
        ] {
            if value.is_some() {
                *target = value;
            }
        }
        place.slot_number = new.slot_number.or(place.slot_number);
        let Some(presence) = presence else { return Ok(()) };
        let state = place.state.get_or_insert_default();
        state.asset_presence = Some(match presence {
            AssetPresenceUpdate::Initializing => AssetPresenceStatus::Initializing,
            AssetPresenceUpdate::Unknown => AssetPresenceStatus::Unknown,
            AssetPresenceUpdate::Present => AssetPresenceStatus::Present,
            AssetPresenceUpdate::NotPresent | AssetPresenceUpdate::Removed => {
                AssetPresenceStatus::NotPresent
            }
        });
        if presence == AssetPresenceUpdate::Removed {
            state.system_connection = None;
            place.minion_id = None;
            place.parent = None;
            place.slot_number = None;
        }
        Ok(())
    }
}

impl UpdateAssetRequest {
    /// The identity members of the request.
    pub(crate) fn identification(&self) -> AssetIdentification {
        AssetIdentification {
            model_name: self.model_name.clone(),
            model_number: self.model_number,
            serial_number: self.serial_number.clone(),
            vendor_name: self.vendor_name.clone(),
            vendor_number: self.vendor_number,
            bus_type: self.bus_type,
        }
    }

    /// The system, which replaces a missing serial number in the identity.
    pub(crate) fn system(&self) -> Option<&str> {
        self.location.as_ref()?.minion_id.as_deref()
    }
}
